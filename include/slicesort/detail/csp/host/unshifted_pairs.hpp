// SPDX-License-Identifier: Apache-2.0
// Exchanges groups of two rows if no channel is shifted. Rows are only exchanged with their
// neighbors, so all channels are processed row by row, in memory order, instead of tile by tile.
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

// Returns the number of leading channels that can be exchanged this way: all whole tiles if
// channels are adjacent in memory, else 0.
template <class From, class To, class Order, class T>
index_t unshifted_channels(From from, To to, Order order, bool saving, index_t group,
                           csp_layout<T> const& layout) {
  if (group != 2 || layout.shifting || layout.mixed) return 0;
  bool const adjacent = from.strides().channels == 1 && to.strides().channels == 1 &&
                        (!saving || order.strides().channels == 1);
  index_t const channels = from.extents().channels;
  return adjacent ? channels - channels % tile_columns : 0;
}

template <class T, class Order, class F>
void for_each_unshifted_piece(host_exec const& exec, tensor3<T const> from, tensor3<T> to,
                              Order order, bool saving, index_t channels,
                              tensor1<index_t const> lengths, F const& exchange) {
  constexpr index_t piece = 16 * csp_batch;
  extents3 const extents = from.extents();
  index_t const pieces = (extents.length + piece - 1) / piece;
  auto const on_line = [](void const* data, index_t pitch) {
    return reinterpret_cast<std::uintptr_t>(data) % 64 == 0 &&
           pitch * static_cast<index_t>(sizeof(T)) % 64 == 0;
  };
  for_each_task(exec, extents.batch * pieces, [&](unsigned, index_t task) {
    index_t const batch = task / pieces;
    pair_rows<T> rows{};
    rows.from = from.data() + from.offset(batch, 0, 0), rows.from_pitch = from.strides().length;
    rows.to = to.data() + to.offset(batch, 0, 0), rows.to_pitch = to.strides().length;
    if (saving) {
      auto* const bytes = static_cast<std::uint8_t*>(const_cast<void*>(order.data()));
      rows.order = bytes + batch * order.strides().batch;
      rows.order_pitch = order.strides().length;
    }
    rows.first = task % pieces * piece;
    rows.end =
        std::min({rows.first + piece, extents.length, valid_rows(lengths, batch, extents.length)});
    rows.channels = channels;
    rows.stream = worth_streaming<T>(extents) && on_line(rows.to, rows.to_pitch);
    exchange(batch, rows);
  });
}

// Exchanges the pairs of these channels and returns the number of channels.
template <class T>
index_t exchange_unshifted_pairs(host_exec const& exec, csp_forward<T> const& params,
                                 csp_layout<T> const& layout, csp_kernels<T> const& kernels) {
  index_t const channels = unshifted_channels(params.x, params.y, params.order, params.saving,
                                              params.config.group, layout);
  if (channels > 0)
    for_each_unshifted_piece(
        exec, params.x, params.y, params.order, params.saving, channels, params.lengths,
        [&](index_t batch, pair_rows<T>& rows) {
          rows.flip = layout.descending[0] ? static_cast<bits_t<T>>(~bits_t<T>{0}) : bits_t<T>{0};
          if (layout.aligned)
            rows.destinations = layout.destinations + batch * params.x.extents().length;
          kernels.exchange_pair_rows(rows, csp_step::forward);
        });
  return channels;
}
template <class T>
index_t exchange_unshifted_pairs(host_exec const& exec, csp_backward<T> const& params,
                                 csp_layout<T> const& layout, csp_kernels<T> const& kernels) {
  if (params.mode != grad_mode::overwrite) return 0;
  index_t const channels =
      unshifted_channels(params.dy, params.dx, params.order, true, params.config.group, layout);
  if (channels > 0)
    for_each_unshifted_piece(exec, params.dy, params.dx, params.order, true, channels,
                             params.lengths, [&](index_t, pair_rows<T> const& rows) {
                               kernels.exchange_pair_rows(rows, csp_step::backward);
                             });
  return channels;
}

SLICESORT_DETAIL_END
