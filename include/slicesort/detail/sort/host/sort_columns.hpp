// SPDX-License-Identifier: Apache-2.0
// Sorts columns on the host, in tiles of 32 that are distributed to threads. Tiles of up to 65536
// rows are sorted by SIMD networks, one column per lane; longer columns by radix sort.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sort/host/radix_sort.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

inline constexpr index_t max_network_rows = 65536;  // rows that 16-bit indices can address

// Tensors of a sort.
template <class T, class Order>
struct columns_to_sort {
  Order const& order;
  tensor3<T const> x;                        // [batch, length, channels]
  tensor3<T> y;                              // [batch, stored_rows, channels]; null: not written
  index_tensor3 perm;                        // [batch, stored_rows, channels]; null: not written
  tensor1<index_t const> lengths;            // [batch]; empty: all rows are valid
  index_t stored_rows = x.extents().length;  // leading sorted rows that are stored
};

// Size of a task. Tasks of two tiles pay off for 16-bit elements only. Few long columns, which are
// sorted one after the other, are split evenly among the threads.
template <class T>
struct sort_task {
  bool uses_radix;  // true if the columns are too long for networks
  int tiles, columns;

  sort_task(extents3 extents, unsigned threads)
      : uses_radix(extents.length > max_network_rows),
        tiles(!uses_radix && sizeof(T) == 2 ? tiles_per_task(extents, threads) : 1),
        columns(uses_radix ? radix_tile<T>::columns : tiles * tile_columns) {
    if (threads <= 1 || tiles > 1 || extents.empty()) return;
    auto const workers = static_cast<index_t>(threads);
    index_t const share = (extents.batch * extents.channels + workers - 1) / workers;
    constexpr index_t min_elements = 65536;  // take longer than starting a thread
    // A tile takes as long as about eight columns one after the other.
    index_t const max_share = uses_radix ? columns : tile_columns / 8;
    if (share <= max_share && share * extents.length >= min_elements)
      columns = static_cast<int>(share);
  }
  index_t task_count(extents3 extents) const {
    return extents.empty() ? 0 : count_tiles(extents, columns);
  }
};

template <class T>
struct sort_scratch {
  radix_tile<T> radix;
  unsigned char* tile_scratch[2] = {};  // if the networks sort; one per tile of a task

  sort_scratch() = default;
  sort_scratch(arena& memory, extents3 extents, unsigned threads) {
    sort_task<T> const task_shape(extents, threads);
    if (task_shape.uses_radix)
      radix = radix_tile<T>(memory, extents.length);
    else
      for (int i = 0; i < task_shape.tiles; ++i)
        tile_scratch[i] = memory.take<unsigned char>(tile_scratch_bytes<T>(extents.length));
  }
};

template <class T, class Order>
void set_up_tile(columns_to_sort<T, Order> const& params, column_range const& columns,
                 column_tile<T>& tile) {
  tile_rows const rows(columns, params.lengths);
  tile.x = params.x.data(), tile.x_layout = {columns, params.x.strides()};
  bool const stores_values = params.y.data() != nullptr, saves = params.perm.data() != nullptr;
  tile.y = params.y.data(), tile.perm = params.perm.data();
  tile.y_layout = {columns, stores_values ? params.y.strides() : params.perm.strides()};
  tile.perm_layout = saves ? tile_operand(columns, params.perm.strides()) : tile.y_layout;
  tile.perm_width = params.perm.width();
  tile.width = columns.width, tile.rows = rows.longest, tile.ragged = !rows.uniform;
  tile.stored_rows = params.stored_rows, tile.group = tile.rows, tile.destinations = nullptr;
  for (int lane = 0; lane < tile_columns; ++lane) {
    tile.valid[lane] = lane < tile.width ? rows.valid[lane] : 0;
    tile.descending_mask[lane] = 0;
  }
  columns.for_each([&](int lane, index_t, index_t channel) {
    if (!ascends(params.order, channel, columns.extents.channels))
      tile.descending_mask[lane] = static_cast<bits_t<T>>(~bits_t<T>{0});
  });
  tile.stream = stores_values && should_stream<T>(columns.extents) &&
                tile.y_layout.has_whole_cache_lines(tile.y, sizeof(T)) &&
                (tile.perm == nullptr || tile.perm_layout.has_whole_cache_lines(
                                             tile.perm, static_cast<index_t>(tile.perm_width)));
  tile.stream_perm = tile.stream;
}

// Copies the rows past the longest column of the tile unchanged; the permutation maps each to
// itself.
template <class T>
void copy_rows_past_tile(column_tile<T> const& tile) {
  for (int c = 0; c < tile.width; ++c)
    for (index_t i = tile.rows; i < tile.stored_rows; ++i) copy_tile_row(tile, c, i, i);
}

// Sorts all columns; scratch_of(thread) returns the scratch memory of a thread.
template <class T, class Order, class ScratchOf>
void sort_columns(host_exec const& exec, columns_to_sort<T, Order> const& params,
                  ScratchOf const& scratch_of) {
  extents3 const extents = params.x.extents();
  tile_sort<T> const sort_tiles =
      tile_sort_of<T>(resolve_isa(exec.instructions), params.perm.data() != nullptr);
  sort_task<T> const task_shape(extents, exec.threads);
  for_each_task(exec, task_shape.task_count(extents), [&](unsigned thread, index_t task) {
    sort_scratch<T> scratch = scratch_of(thread);
    column_tile<T> tiles[2];
    int const count = task_shape.tiles == 1 ? 1 : tiles_in_task(extents, task, task_shape.tiles);
    auto const set_up = [&](int i) {
      set_up_tile(params,
                  columns_per_tile(extents, task * task_shape.tiles + i,
                                   task_shape.columns / task_shape.tiles),
                  tiles[i]);
      tiles[i].scratch = scratch.tile_scratch[i];
    };
    set_up(0);
    if (count > 1) set_up(1);
    if (task_shape.uses_radix)
      scratch.radix.run(tiles[0]);
    else
      sort_tiles(tiles, count);
    for (int i = 0; i < count; ++i) copy_rows_past_tile(tiles[i]);
  });
}

SLICESORT_DETAIL_END
