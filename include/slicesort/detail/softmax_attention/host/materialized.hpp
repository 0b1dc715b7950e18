// SPDX-License-Identifier: Apache-2.0
// Materialized attention on host threads. A task computes one head; in backward, one head of k with
// its group of query heads. The gradient of a shared bias needs a second pass, with one task per
// group of heads and query tile.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/host/backward_tile.hpp>
#include <slicesort/detail/attention/host/bias_sums.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/softmax_attention/host/materialized/layout.hpp>
#include <slicesort/detail/softmax_attention/host/materialized/map_task.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class T>
void materialized_forward(host_exec const& exec, attention_config const& config,
                          attention_inputs<T> const& in, tensor4<T> y, tensor4<T> state,
                          workspace workspace_memory) {
  attention_shape const shape(in);
  arena memory(workspace_memory);
  if (shape.empty()) return;
  attention_map_layout<T> const layout(memory, exec, shape);
  attention_kernels<T> const kernels(exec.instructions);
  for_each_task(exec, shape.pairs(), [&](unsigned thread, index_t task) {
    attention_map_task<T>(config, kernels, in, layout.workspaces[thread], task).forward(y, state);
  });
}

template <class T>
void materialized_backward(host_exec const& exec, attention_config const& config,
                           attention_inputs<T> const& in, tensor4<T const> state,
                           attention_backward_tensors<T> const& out, workspace workspace_memory) {
  tensor4<T> const dbias = out.grads.dbias;
  attention_shape const shape(in.q.extents(), in.v.extents(), dbias.extents());
  if (shape.empty()) return clear_dbias(dbias, out.mode);
  attention_kernels<T> const kernels(exec.instructions);
  arena memory(workspace_memory), second_pass_memory(workspace_memory);
  attention_map_layout<T> const layout(memory, exec, shape);
  auto head_out = out, shared_out = out;
  shared_out.grads = {};
  if (shape.dbias.layout != dbias_layout::per_pair) head_out.grads.dbias = {};
  head_out.distance_sums = layout.distance_sums;
  if (head_out.needs_head_pass())
    for_each_task(exec, shape.kv_pairs(), [&](unsigned thread, index_t task) {
      auto const workspace = layout.workspaces[thread];
      auto const sums = layout.kv_sums(thread);
      for_each_head_of_kv(shape, task, [&](index_t flat_head, bool is_first, bool is_last) {
        attention_map_task<T>(config, kernels, in, workspace, flat_head)
            .backward(state, head_out, sums, is_first, is_last);
      });
    });
  if (shape.dbias.layout == dbias_layout::relative)
    reduce_distance_sums(exec, row_access<T>(kernels), shape, layout.distance_sums, dbias,
                         out.mode);
  shared_bias_map_layout<T> const shared(second_pass_memory, exec, shape);
  for_each_task(exec, shared.tasks, [&](unsigned thread, index_t task) {
    auto workspace = shared.workspaces[thread];
    index_t const group = task / count_query_tiles(shape),
                  query = task % count_query_tiles(shape) * tile_queries;
    workspace.total.clear(shape.keys);
    for_each_head_in_group(shape, group, [&](index_t flat_head) {
      attention_map_task<T>(config, kernels, in, workspace.head, flat_head)
          .add_score_grads(state, shared_out, query, workspace.total);
    });
    workspace.total.store(row_access<T>(kernels), shape, group, query, dbias, out.mode);
  });
}

SLICESORT_DETAIL_END
