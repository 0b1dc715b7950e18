// SPDX-License-Identifier: Apache-2.0
// Groups of two rows where no channel is shifted: a row moves to its neighbor's place or not at
// all, so all channels are passed over row by row, in memory order, instead of tile by tile.
#pragma once

#include <slicesort/detail/csp/host/layout.hpp>
#include <slicesort/detail/csp/host/simd_table.hpp>
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// The number of leading channels that can be passed over so: whole tiles, if channels are adjacent
// in memory.
template <class From, class To, class Order, class T>
index_t unshifted_channels(From from, To to, Order order, bool saving, index_t group,
                           csp_layout<T> const& m) {
  if (group != 2 || m.shifting || m.mixed) return 0;
  bool const adjacent = from.strides().channels == 1 && to.strides().channels == 1 &&
                        (!saving || order.strides().channels == 1);
  index_t const channels = from.extents().channels;
  return adjacent ? channels - channels % tile_columns : 0;
}

// Calls exchange(batch, rows) for every piece of every sample.
template <class T, class Order, class F>
void for_each_unshifted_piece(host_exec const& exec, tensor3<T const> from, tensor3<T> to,
                              Order order, bool saving, index_t channels,
                              tensor1<index_t const> lengths, F const& exchange) {
  constexpr index_t piece = 16 * csp_batch;
  extents3 const e = from.extents();
  index_t const pieces = (e.length + piece - 1) / piece;
  auto const on_line = [](void const* p, index_t pitch) {
    return reinterpret_cast<std::uintptr_t>(p) % 64 == 0 &&
           pitch * static_cast<index_t>(sizeof(T)) % 64 == 0;
  };
  for_each_task(exec, e.batch * pieces, [&](unsigned, index_t task) {
    index_t const batch = task / pieces;
    pair_rows<T> r{};
    r.from = from.data() + from.offset(batch, 0, 0), r.from_pitch = from.strides().length;
    r.to = to.data() + to.offset(batch, 0, 0), r.to_pitch = to.strides().length;
    if (saving) {
      auto* const bytes = static_cast<std::uint8_t*>(const_cast<void*>(order.data()));
      r.order = bytes + batch * order.strides().batch;
      r.order_pitch = order.strides().length;
    }
    r.first = task % pieces * piece;
    r.end = std::min({r.first + piece, e.length, valid_rows(lengths, batch, e.length)});
    r.channels = channels;
    r.stream = worth_streaming<T>(e) && on_line(r.to, r.to_pitch);
    exchange(batch, r);
  });
}

// Exchange the pairs of such channels, and return their number.
template <class T>
index_t exchange_unshifted_pairs(host_exec const& exec, csp_forward<T> const& p,
                                 csp_layout<T> const& m, csp_kernels<T> const& use) {
  index_t const channels = unshifted_channels(p.x, p.y, p.order, p.saving, p.config.group, m);
  if (channels > 0)
    for_each_unshifted_piece(exec, p.x, p.y, p.order, p.saving, channels, p.lengths,
                             [&](index_t batch, pair_rows<T>& r) {
                               r.flip = m.descending[0] ? static_cast<bits_t<T>>(~bits_t<T>{0})
                                                        : bits_t<T>{0};
                               if (m.aligned)
                                 r.destinations = m.destinations + batch * p.x.extents().length;
                               use.exchange_pair_rows(r, csp_step::forward);
                             });
  return channels;
}
template <class T>
index_t exchange_unshifted_pairs(host_exec const& exec, csp_backward<T> const& p,
                                 csp_layout<T> const& m, csp_kernels<T> const& use) {
  if (p.mode != grad_mode::overwrite) return 0;
  index_t const channels = unshifted_channels(p.dy, p.dx, p.order, true, p.config.group, m);
  if (channels > 0)
    for_each_unshifted_piece(
        exec, p.dy, p.dx, p.order, true, channels, p.lengths,
        [&](index_t, pair_rows<T> const& r) { use.exchange_pair_rows(r, csp_step::backward); });
  return channels;
}

SLICESORT_DETAIL_END
