// SPDX-License-Identifier: Apache-2.0
// Splits a sinkhorn_csp call on the host into tasks of one group of a few channels.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

inline constexpr int sinkhorn_csp_lanes = 16;  // channels per task, at most

// One group of up to sinkhorn_csp_lanes channels. Rows [first_row, first_row + rows) are valid, and
// the rest of the group, up to `end_row`, is padding.
struct sinkhorn_task {
  index_t batch, channel, channels;
  index_t first_row, rows, end_row;
  index_t valid;  // valid rows of the sample
};

class sinkhorn_tasks {
 public:
  sinkhorn_tasks(extents3 e, index_t group, index_t first_sample, index_t samples)
      : extents_(e),
        group_(group),
        first_sample_(first_sample),
        samples_(samples),
        groups_per_sample_((e.length + group - 1) / group),
        tiles_per_group_(e.empty() ? 0
                                   : (e.channels + sinkhorn_csp_lanes - 1) / sinkhorn_csp_lanes) {}

  index_t count() const {
    return extents_.empty() ? 0 : samples_ * groups_per_sample_ * tiles_per_group_;
  }
  sinkhorn_task at(index_t index, tensor1<index_t const> lengths) const {
    index_t const tile = index % tiles_per_group_, group_index = index / tiles_per_group_;
    index_t const batch = first_sample_ + group_index / groups_per_sample_,
                  first_row = group_index % groups_per_sample_ * group_;
    index_t const channel = tile * sinkhorn_csp_lanes;
    index_t const end_row = std::min(first_row + group_, extents_.length);
    index_t const valid = valid_rows(lengths, batch, extents_.length);
    sinkhorn_task task;
    task.batch = batch;
    task.channel = channel;
    task.channels = std::min<index_t>(sinkhorn_csp_lanes, extents_.channels - channel);
    task.first_row = first_row;
    task.rows = std::clamp<index_t>(valid - first_row, 0, end_row - first_row);
    task.end_row = end_row;
    task.valid = valid;
    return task;
  }

 private:
  extents3 extents_;
  index_t group_, first_sample_, samples_, groups_per_sample_, tiles_per_group_;
};

SLICESORT_DETAIL_END
