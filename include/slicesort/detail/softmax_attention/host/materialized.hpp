// SPDX-License-Identifier: Apache-2.0
// Materialized attention on threads: a task is a head; for the gradient of a bias that is shared,
// the heads that share a tile of it.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/softmax_attention/host/backward_tile.hpp>
#include <slicesort/detail/softmax_attention/host/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/materialized/layout.hpp>
#include <slicesort/detail/softmax_attention/host/materialized/map_task.hpp>
#include <slicesort/detail/softmax_attention/host/simd_table.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

template <class T>
void materialized_forward(host_exec const& exec, attention_config const& config,
                          attention_inputs<T> const& in, tensor4<T> y, tensor4<T> state,
                          workspace w) {
  attention_shape const s(in);
  arena a(w);
  if (s.empty()) return;
  attention_map_layout<T> const m(a, exec, s);
  attention_kernels<T> const use(exec.instructions);
  for_each_task(exec, s.pairs(), [&](unsigned slot, index_t task) {
    auto const own = m.each[slot];
    attention_map_task<T>(config, use, in, own, task).forward(y, state);
  });
}

template <class T>
void materialized_backward(host_exec const& exec, attention_config const& config,
                           attention_inputs<T> const& in, tensor4<T const> state,
                           attention_backward_tensors<T> const& out, workspace w) {
  tensor4<T> const dbias = out.to.dbias;
  attention_shape const s(in.q.extents(), in.v.extents(), dbias.extents());
  if (s.empty()) return clear_sums(dbias, out.mode);
  attention_kernels<T> const use(exec.instructions);
  arena a(w), after(w);
  attention_map_layout<T> const m(a, exec, s);
  auto heads = out, shares = out;
  shares.to = {};
  if (s.dbias.form != bias_gradient::of_pairs) heads.to.dbias = {};
  heads.distance_sums = m.distance_sums;
  if (heads.any())
    for_each_task(exec, s.pairs(), [&](unsigned slot, index_t task) {
      auto const own = m.each[slot];
      attention_map_task<T>(config, use, in, own, task).backward(state, heads);
    });
  if (s.dbias.form == bias_gradient::relative)
    add_up_distances(exec, row_access<T>(use), s, m.distance_sums, dbias, out.mode);
  shared_bias_map_layout<T> const shared(after, exec, s);
  for_each_task(exec, shared.tasks, [&](unsigned slot, index_t task) {
    auto own = shared.each[slot];
    index_t const group = task / tiles_of_queries(s),
                  query = task % tiles_of_queries(s) * attention_queries;
    own.total.clear(s.keys);
    for_each_of_group(s, group, [&](index_t pair) {
      attention_map_task<T>(config, use, in, own.map, pair)
          .add_dscores(state, shares, query, own.total);
    });
    own.total.store(row_access<T>(use), s, group, query, dbias, out.mode);
  });
}

SLICESORT_DETAIL_END
