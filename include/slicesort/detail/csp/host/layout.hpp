// SPDX-License-Identifier: Apache-2.0
// Workspace of a csp call on the host: the policies evaluated for every channel, and the memory of
// each thread. Makes tiles of 32 channels of one sample.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/csp/host/long_groups.hpp>
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T>
struct csp_task_memory {
  csp_scratch<T> tile;
  csp_long_groups<T> long_groups;

  csp_task_memory(arena& memory, index_t length, index_t group, bool aligned)
      : tile(memory, length, group, needs_sort(group) && !is_long_group(group)) {
    if (is_long_group(group)) long_groups = csp_long_groups<T>(memory, group, aligned);
  }
};

template <class T>
struct csp_layout {
  index_t* shifts;                // [channels]
  bool* descending;               // [channels], true if the channel descends
  bool has_shifts = false;        // true if some channel is shifted
  bool mixed_directions = false;  // true if only some channels descend
  bool aligned;                   // true if groups follow the order of a reference channel
  // Destination of each sorted row in its aligned group: [batch][length]. Long groups have 32-bit
  // destinations.
  std::uint16_t* destinations;
  std::uint32_t* long_destinations;
  per_thread<csp_task_memory<T>, index_t, index_t, bool> task_memory;

  csp_layout(arena& memory, host_exec const& exec, csp_shape const& shape, bool aligned_groups)
      : shifts(memory.take<index_t>(shape.extents.empty() ? 0 : shape.extents.channels)),
        descending(memory.take<bool>(shape.extents.empty() ? 0 : shape.extents.channels)),
        aligned(aligned_groups),
        destinations(memory.take<std::uint16_t>(
            aligned && !is_long_group(shape.group) ? row_count(shape.extents) : 0)),
        long_destinations(memory.take<std::uint32_t>(
            aligned && is_long_group(shape.group) ? row_count(shape.extents) : 0)),
        task_memory(memory, exec.threads, max_tasks(shape.extents), shape.extents.length,
                    shape.group, aligned) {}

  void evaluate_policies(csp_config const& config, extents3 extents) {
    for (index_t c = 0; c < extents.channels; ++c) {
      shifts[c] = config.shift(c, extents);
      descending[c] = config.descends(c, extents);
      has_shifts |= shifts[c] != 0;
      mixed_directions |= descending[c] != descending[0];
    }
  }

  static tile_operand layout_of(extents3 extents, strides3 strides, column_chunk chunk) {
    return {column_range{extents, chunk.batch * extents.channels + chunk.channel,
                         static_cast<int>(chunk.channels)},
            strides};
  }
  csp_tile<T> make_tile(tensor3<T const> from, tensor3<T> to, column_chunk chunk, index_t group,
                        tensor1<index_t const> lengths, csp_scratch<T> const& scratch,
                        csp_operation operation) const {
    extents3 const extents = from.extents();
    csp_tile<T> tile{};
    tile.from = from.data(), tile.from_layout = layout_of(extents, from.strides(), chunk);
    tile.to = to.data(), tile.to_layout = layout_of(extents, to.strides(), chunk);
    tile.width = static_cast<int>(chunk.channels);
    tile.rows = detail::valid_rows(lengths, chunk.batch, extents.length);
    tile.group = group;
    for (int lane = 0; lane < tile.width; ++lane) {
      tile.shift[lane] = wrap_row(shifts[chunk.channel + lane], tile.rows);
      tile.shifted |= tile.shift[lane] != 0;
      if (descending[chunk.channel + lane])
        tile.descending_mask[lane] = static_cast<bits_t<T>>(~bits_t<T>{0});
    }
    tile.mode = grad_mode::overwrite;
    tile.stream = should_stream<T>(extents) && tile.to_layout.dense &&
                  tile.to_layout.has_whole_cache_lines(tile.to, sizeof(T));
    tile.scratch = scratch;
    tile.choose_pitch(operation);
    return tile;
  }
  template <class Order>
  static void set_order(csp_tile<T>& tile, Order const& order, void* data, column_chunk chunk) {
    if (tile.group == 1) return;
    tile.order = data;
    tile.order_width = order.width();
    tile.order_layout = layout_of(order.extents(), order.strides(), chunk);
  }

 private:
  static std::size_t row_count(extents3 extents) {
    return static_cast<std::size_t>(extents.empty() ? 0 : extents.batch * extents.length);
  }
  // Maximum number of tasks of a parallel loop: over tiles, or over samples.
  static index_t max_tasks(extents3 extents) {
    return extents.empty() ? 0
                           : std::max(column_chunks(extents, tile_columns).count(), extents.batch);
  }
};

SLICESORT_DETAIL_END
