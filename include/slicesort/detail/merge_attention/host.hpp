// SPDX-License-Identifier: Apache-2.0
// Host backend of merge_attention. A task merges some rows of a sample, in memory order.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/unfused.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/merge_attention/host/rows.hpp>
#include <slicesort/detail/merge_attention/params.hpp>
#include <slicesort/detail/merge_attention/weights.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// A functor instead of a lambda, because nvcc compiles merge_weights for host and device.
template <class A>
struct statistics_list {
  row_statistics<A> const* values;
  SLICESORT_HD row_statistics<A> operator()(int part) const { return values[part]; }
};

template <class T>
class merge_task {
  using A = accumulator_t<T>;

 public:
  merge_task(merge_attention_forward<T> const& params, merge_row_fn<T> merge_row, index_t sample)
      : params_(params), merge_row_(merge_row), sample_(sample) {
    row_.channels = params.y.extents().channels;
    row_.output_stride = params.y.strides().channels;
    row_.contiguous = row_.output_stride == 1;
    for (int i = 0; i < params.count; ++i)
      row_.contiguous = row_.contiguous && part(i).y.strides().channels == 1;
  }

  // Merges one row. Reads all states before it writes the merged one, which may alias part 0's.
  void run(index_t head, index_t query) {
    A weights[merged_row<T>::max_parts];
    row_statistics<A> statistics[merged_row<T>::max_parts];
    for (int i = 0; i < params_.count; ++i)
      statistics[i] = load_statistics(part(i).state, {sample_, head}, query);
    auto const merged = merge_weights(ops_, params_.count, statistics_list<A>{statistics}, weights);
    if (params_.saving)
      save_statistics<A>(params_.state, {sample_, head}, query,
                         {rounded<A>(merged.max), rounded<A>(merged.sum)});
    if (row_.channels > 0) sum_parts(head, query, weights);
  }

 private:
  attention_part<T> const& part(int i) const { return params_.parts[static_cast<std::size_t>(i)]; }

  void sum_parts(index_t head, index_t query, A const* weights) {
    row_.part_count = 0;
    for (int i = 0; i < params_.count; ++i) {
      if (is_zero(weights[i])) continue;
      row_.inputs[row_.part_count] = &part(i).y(sample_, head, query, 0);
      row_.input_strides[row_.part_count] = part(i).y.strides().channels;
      row_.weights[row_.part_count++] = weights[i];
    }
    row_.output = &params_.y(sample_, head, query, 0);
    if (row_.part_count > 0) return merge_row_(row_);
    for (index_t c = 0; c < row_.channels; ++c) row_.output[c * row_.output_stride] = T(0.0F);
  }

  merge_attention_forward<T> const& params_;
  merge_row_fn<T> const merge_row_;
  index_t const sample_;
  unfused<A> ops_;
  merged_row<T> row_;
};

template <>
struct host_implementation<merge_attention_op> : needs_no_workspace {
  template <class T>
  static void forward(host_exec const& exec, merge_attention_forward<T> const& params, workspace);
};

template <class T>
void host_implementation<merge_attention_op>::forward(host_exec const& exec,
                                                      merge_attention_forward<T> const& params,
                                                      workspace) {
  constexpr index_t rows_per_task = 64;
  extents4 const e = params.shape();
  index_t const rows = e.heads * e.length,
                tasks_per_sample = (rows + rows_per_task - 1) / rows_per_task;
  // Packed tensors store the heads of a row next to each other, so the inner loop runs over heads.
  bool const heads_are_packed = params.y.strides().heads < params.y.strides().length;
  merge_row_fn<T> const merge_row = select_merge_row<T>(exec.instructions);
  for_each_task(exec, e.batch * tasks_per_sample, [&](unsigned, index_t task) {
    index_t const first = task % tasks_per_sample * rows_per_task,
                  last = std::min(first + rows_per_task, rows);
    merge_task<T> merge(params, merge_row, task / tasks_per_sample);
    for (index_t row = first; row < last; ++row)
      heads_are_packed ? merge.run(row % e.heads, row / e.heads)
                       : merge.run(row / e.length, row % e.length);
  });
}

SLICESORT_DETAIL_END
