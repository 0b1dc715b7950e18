// SPDX-License-Identifier: Apache-2.0
// csp on the host: tiles of 32 channels of one sample, shared among threads. Where groups are
// aligned, the order of every sample's reference is found first.
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
  static void plan(host_exec const& exec, csp_shape const& s, arena& a) {
    (void)csp_layout<T>(a, exec, s, Aligned);
  }

  template <class T>
  static void forward(host_exec const& exec, csp_forward<T> const& p, workspace w);
  template <class T>
  static void backward(host_exec const& exec, csp_backward<T> const& p, workspace w);
};

// Saves rows past the valid ones, which stay in place. A byte of bits that also has a valid pair is
// written already, with zeros for the others.
inline void save_rest(index_tensor3 order, column_chunk b, index_t valid, index_t length,
                      index_t group) {
  if (group == 1) return;
  auto const save = [&](auto view) {
    if (group == 2)
      for_each_element(view, b, (valid + csp_batch - 1) / csp_batch, order.extents().length,
                       [](index_t, index_t, auto& byte) { byte = 0; });
    else
      for_each_element(view, b, valid, length, [=](index_t, index_t i, auto& row) {
        row = static_cast<std::remove_reference_t<decltype(row)>>(i % group);
      });
  };
  if (order.width() == index_width::bits8)
    save(tensor3<std::uint8_t>(static_cast<std::uint8_t*>(order.data()), order.extents(),
                               order.strides()));
  else
    with_index_type(order, save);
}

// Not in the class: a program can have them compiled in one place (`extern template`).
template <bool Aligned>
template <class T>
void host_implementation<csp_op<Aligned>>::forward(host_exec const& exec, csp_forward<T> const& p,
                                                   workspace w) {
  extents3 const e = p.x.extents();
  if (e.empty()) return;
  arena a(w);
  csp_layout<T> m(a, exec, p.shape(), Aligned);
  m.ask_policies(p.config, e);
  csp_kernels<T> const use(chosen_isa(exec.instructions));
  if constexpr (Aligned) align_groups(exec, p, m, use);
  index_t const group = p.config.group, unshifted = exchange_unshifted_pairs(exec, p, m, use);
  for_each_column_chunk(exec, e, [&](unsigned slot, column_chunk b) {
    csp_task_memory<T> const memory = m.tasks[slot];
    csp_tile<T> t = m.tile_of(p.x, p.y, b, group, p.lengths, memory.tile, csp_step::forward);
    if (p.saving) m.add_order(t, p.order, p.order.data(), b);
    index_t const first = b.batch * e.length;
    if (is_long_group(group)) {
      use.move_csp_tile(t, csp_step::gather_shifted);
      memory.long_groups.run(t, Aligned ? m.long_destinations + first : nullptr);
    } else {
      t.destinations = Aligned ? m.destinations + first : nullptr;
      if (b.channel >= unshifted) use.move_csp_tile(t, csp_step::forward);
    }
    transfer_rows(p.x, p.y, b, t.rows, e.length, grad_mode::overwrite);
    if (p.saving) save_rest(p.order, b, t.rows, e.length, group);
  });
}

template <bool Aligned>
template <class T>
void host_implementation<csp_op<Aligned>>::backward(host_exec const& exec, csp_backward<T> const& p,
                                                    workspace w) {
  extents3 const e = p.dy.extents();
  if (e.empty()) return;
  arena a(w);
  csp_layout<T> m(a, exec, p.shape(), Aligned);
  m.ask_policies(p.config, e);
  csp_kernels<T> const use(chosen_isa(exec.instructions));
  index_t const unshifted = exchange_unshifted_pairs(exec, p, m, use);
  for_each_column_chunk(exec, e, [&](unsigned slot, column_chunk b) {
    csp_tile<T> t =
        m.tile_of(p.dy, p.dx, b, p.config.group, p.lengths, m.tasks[slot].tile, csp_step::backward);
    m.add_order(t, p.order, const_cast<void*>(p.order.data()), b);
    t.mode = p.mode;
    if (b.channel >= unshifted) use.move_csp_tile(t, csp_step::backward);
    transfer_rows(p.dy, p.dx, b, t.rows, e.length, p.mode);
  });
}

SLICESORT_DETAIL_END
