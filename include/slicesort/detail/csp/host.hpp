// SPDX-License-Identifier: Apache-2.0
// csp (channel-wise sample permutation) on the host. Tiles of 32 channels of one sample are
// distributed to threads. With alignment, the order of each sample's reference channel is computed
// first.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/csp/host/align.hpp>
#include <slicesort/detail/csp/host/layout.hpp>
#include <slicesort/detail/csp/host/simd_table.hpp>
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/csp/host/unshifted_pairs.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <bool Aligned>
struct host_implementation<csp_op<Aligned>> {
  template <class T>
  static void plan(host_exec const& exec, csp_shape const& shape, arena& memory) {
    (void)csp_layout<T>(memory, exec, shape, Aligned);
  }

  template <class T>
  static void forward(host_exec const& exec, csp_forward<T> const& params, workspace w);
  template <class T>
  static void backward(host_exec const& exec, csp_backward<T> const& params, workspace w);
};

// Saves the order of padding rows, which stay in place. With groups of two, the byte that valid and
// padding pairs share is already written.
inline void save_padding_order(index_tensor3 order, column_chunk chunk, index_t valid,
                               index_t length, index_t group) {
  if (group == 1) return;
  auto const save_to = [&](auto view) {
    if (is_pair(group))
      for_each_element(view, chunk, (valid + csp_rows_per_batch - 1) / csp_rows_per_batch,
                       order.extents().length, [](index_t, index_t, auto& byte) { byte = 0; });
    else
      for_each_element(view, chunk, valid, length, [=](index_t, index_t i, auto& source) {
        source = static_cast<std::remove_reference_t<decltype(source)>>(i % group);
      });
  };
  if (order.width() == index_width::bits8)
    save_to(tensor3<std::uint8_t>(static_cast<std::uint8_t*>(order.data()), order.extents(),
                                  order.strides()));
  else
    with_index_type(order, save_to);
}

// Defined outside the class, so that a program can instantiate them in one place
// (`extern template`).
template <bool Aligned>
template <class T>
void host_implementation<csp_op<Aligned>>::forward(host_exec const& exec,
                                                   csp_forward<T> const& params, workspace w) {
  extents3 const extents = params.x.extents();
  if (extents.empty()) return;
  arena memory(w);
  csp_layout<T> layout(memory, exec, params.shape(), Aligned);
  layout.evaluate_policies(params.config, extents);
  csp_kernels<T> const kernels(resolve_isa(exec.instructions));
  if constexpr (Aligned) align_groups(exec, params, layout, kernels);
  index_t const group = params.config.group,
                exchanged_channels = exchange_unshifted_pairs(exec, params, layout, kernels);
  for_each_column_chunk(exec, extents, [&](unsigned thread, column_chunk chunk) {
    csp_task_memory<T> const task_memory = layout.task_memory[thread];
    csp_tile<T> tile = layout.make_tile(params.x, params.y, chunk, group, params.lengths,
                                        task_memory.tile, csp_operation::forward);
    if (params.saving) layout.set_order(tile, params.order, params.order.data(), chunk);
    index_t const first_row = chunk.batch * extents.length;
    if (is_long_group(group)) {
      kernels.run_csp_tile(tile, csp_operation::gather_shifted);
      task_memory.long_groups.sort(tile, Aligned ? layout.long_destinations + first_row : nullptr);
    } else {
      tile.destinations = Aligned ? layout.destinations + first_row : nullptr;
      if (chunk.channel >= exchanged_channels) kernels.run_csp_tile(tile, csp_operation::forward);
    }
    transfer_rows(params.x, params.y, chunk, tile.rows, extents.length, grad_mode::overwrite);
    if (params.saving) save_padding_order(params.order, chunk, tile.rows, extents.length, group);
  });
}

template <bool Aligned>
template <class T>
void host_implementation<csp_op<Aligned>>::backward(host_exec const& exec,
                                                    csp_backward<T> const& params, workspace w) {
  extents3 const extents = params.dy.extents();
  if (extents.empty()) return;
  arena memory(w);
  csp_layout<T> layout(memory, exec, params.shape(), Aligned);
  layout.evaluate_policies(params.config, extents);
  csp_kernels<T> const kernels(resolve_isa(exec.instructions));
  index_t const exchanged_channels = exchange_unshifted_pairs(exec, params, layout, kernels);
  for_each_column_chunk(exec, extents, [&](unsigned thread, column_chunk chunk) {
    csp_tile<T> tile =
        layout.make_tile(params.dy, params.dx, chunk, params.config.group, params.lengths,
                         layout.task_memory[thread].tile, csp_operation::backward);
    layout.set_order(tile, params.order, const_cast<void*>(params.order.data()), chunk);
    tile.mode = params.mode;
    if (chunk.channel >= exchanged_channels) kernels.run_csp_tile(tile, csp_operation::backward);
    transfer_rows(params.dy, params.dx, chunk, tile.rows, extents.length, params.mode);
  });
}

SLICESORT_DETAIL_END
