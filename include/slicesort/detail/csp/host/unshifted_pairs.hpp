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

// Returns the number of channels, counted from the first, that can be exchanged row by row: all
// whole tiles if channels are adjacent in memory, else 0.
template <class From, class To, class Order, class T>
index_t unshifted_channels(From from, To to, Order order, bool has_order, index_t group,
                           csp_layout<T> const& layout) {
  if (!is_pair(group) || layout.has_shifts || layout.mixed_directions) return 0;
  bool const adjacent = from.strides().channels == 1 && to.strides().channels == 1 &&
                        (!has_order || order.strides().channels == 1);
  index_t const channels = from.extents().channels;
  return adjacent ? channels - channels % tile_columns : 0;
}

// Calls exchange(batch, pairs) for chunks of rows of every sample, on all threads.
template <class T, class Order, class F>
void for_each_unshifted_chunk(host_exec const& exec, tensor3<T const> from, tensor3<T> to,
                              Order order, bool has_order, index_t channels,
                              tensor1<index_t const> lengths, F const& exchange) {
  constexpr index_t rows_per_chunk = 16 * csp_rows_per_batch;
  extents3 const extents = from.extents();
  index_t const chunks_per_sample = (extents.length + rows_per_chunk - 1) / rows_per_chunk;
  auto const are_rows_on_lines = [](void const* data, index_t pitch) {
    return reinterpret_cast<std::uintptr_t>(data) % 64 == 0 &&
           pitch * static_cast<index_t>(sizeof(T)) % 64 == 0;
  };
  for_each_task(exec, extents.batch * chunks_per_sample, [&](unsigned, index_t task) {
    index_t const batch = task / chunks_per_sample;
    row_pairs<T> pairs{};
    pairs.from = from.data() + from.offset(batch, 0, 0), pairs.from_pitch = from.strides().length;
    pairs.to = to.data() + to.offset(batch, 0, 0), pairs.to_pitch = to.strides().length;
    if (has_order) {
      auto* const bytes = static_cast<std::uint8_t*>(const_cast<void*>(order.data()));
      pairs.order = bytes + batch * order.strides().batch;
      pairs.order_pitch = order.strides().length;
    }
    pairs.first_row = task % chunks_per_sample * rows_per_chunk;
    pairs.end_row = std::min({pairs.first_row + rows_per_chunk, extents.length,
                              valid_rows(lengths, batch, extents.length)});
    pairs.channels = channels;
    pairs.stream = should_stream<T>(extents) && are_rows_on_lines(pairs.to, pairs.to_pitch);
    exchange(batch, pairs);
  });
}

// Exchanges the pairs of the unshifted channels and returns the number of channels.
template <class T>
index_t exchange_unshifted_pairs(host_exec const& exec, csp_forward<T> const& params,
                                 csp_layout<T> const& layout, csp_kernels<T> const& kernels) {
  index_t const channels = unshifted_channels(params.x, params.y, params.order, params.saving,
                                              params.config.group, layout);
  if (channels > 0)
    for_each_unshifted_chunk(
        exec, params.x, params.y, params.order, params.saving, channels, params.lengths,
        [&](index_t batch, row_pairs<T>& pairs) {
          pairs.descending_mask =
              layout.descending[0] ? static_cast<bits_t<T>>(~bits_t<T>{0}) : bits_t<T>{0};
          if (layout.aligned)
            pairs.destinations = layout.destinations + batch * params.x.extents().length;
          kernels.exchange_row_pairs(pairs, csp_operation::forward);
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
    for_each_unshifted_chunk(exec, params.dy, params.dx, params.order, true, channels,
                             params.lengths, [&](index_t, row_pairs<T> const& pairs) {
                               kernels.exchange_row_pairs(pairs, csp_operation::backward);
                             });
  return channels;
}

SLICESORT_DETAIL_END
