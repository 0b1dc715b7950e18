// SPDX-License-Identifier: Apache-2.0
// Tasks of sinkhorn_csp on the host.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

inline constexpr int sinkhorn_lanes = 16;  // maximum number of channels per task

// One group of up to sinkhorn_lanes channels. Rows [first_row, first_row + rows) are valid. The
// remaining rows, up to `end`, are past the sample's length.
struct sinkhorn_task {
  index_t batch, channel, channels;
  index_t first_row, rows, end;
  index_t valid;  // valid rows of the sample
};

class sinkhorn_tasks {
 public:
  sinkhorn_tasks(extents3 e, index_t group, index_t first, index_t samples)
      : extents_(e),
        group_(group),
        first_(first),
        samples_(samples),
        groups_((e.length + group - 1) / group),
        tiles_(e.empty() ? 0 : (e.channels + sinkhorn_lanes - 1) / sinkhorn_lanes) {}

  index_t count() const { return extents_.empty() ? 0 : samples_ * groups_ * tiles_; }
  sinkhorn_task at(index_t index, tensor1<index_t const> lengths) const {
    index_t const tile = index % tiles_, group_index = index / tiles_;
    index_t const batch = first_ + group_index / groups_, begin = group_index % groups_ * group_;
    index_t const channel = tile * sinkhorn_lanes;
    index_t const end = std::min(begin + group_, extents_.length);
    index_t const valid = valid_rows(lengths, batch, extents_.length);
    sinkhorn_task task;
    task.batch = batch;
    task.channel = channel;
    task.channels = std::min<index_t>(sinkhorn_lanes, extents_.channels - channel);
    task.first_row = begin;
    task.rows = std::clamp<index_t>(valid - begin, 0, end - begin);
    task.end = end;
    task.valid = valid;
    return task;
  }

 private:
  extents3 extents_;
  index_t group_, first_, samples_, groups_, tiles_;
};

SLICESORT_DETAIL_END
