// SPDX-License-Identifier: Apache-2.0
// Sorts columns on the host: in tiles of 32, shared among threads. Up to 65536 rows a tile is
// sorted by SIMD networks, one column per lane; longer columns by radix sort.
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

inline constexpr index_t longest_network = 65536;  // what a 16-bit index can name

template <class T, class Order>
struct columns_to_sort {
  Order const& order;
  tensor3<T const> x;              // [batch, length, channels]
  tensor3<T> y;                    // [batch, length, channels]
  index_tensor3 perm;              // [batch, length, channels]; without data, not written
  tensor1<index_t const> lengths;  // [batch], or none
};

// What a task sorts. Two tiles at a time pay for narrow elements alone.
template <class T>
struct sort_task {
  bool radix;  // too long for networks
  int tiles, columns;

  sort_task(extents3 e, unsigned threads)
      : radix(e.length > longest_network),
        tiles(!radix && sizeof(T) == 2 ? tiles_of_task(e, threads) : 1),
        columns(radix ? radix_tile<T>::columns : tiles * tile_columns) {}
  // How many tasks a call is.
  index_t count(extents3 e) const { return e.empty() ? 0 : tiles_of(e, columns); }
};

// The workspace of one task.
template <class T>
struct sort_scratch {
  radix_tile<T> radix;              // of columns too long for networks
  unsigned char* networks[2] = {};  // of the others, for each tile

  sort_scratch() = default;
  sort_scratch(arena& a, extents3 e, unsigned threads) {
    sort_task<T> const task(e, threads);
    if (task.radix)
      radix = radix_tile<T>(a, e.length);
    else
      for (int i = 0; i < task.tiles; ++i)
        networks[i] = a.take<unsigned char>(tile_scratch_bytes<T>(e.length));
  }
};

template <class T, class Order>
void open_tile(columns_to_sort<T, Order> const& params, column_range const& columns,
               column_tile<T>& t) {
  tile_rows const rows(columns, params.lengths);
  t.x = params.x.data(), t.x_at = {columns, params.x.strides()};
  t.y = params.y.data(), t.y_at = {columns, params.y.strides()};
  t.perm = params.perm.data();
  t.perm_at = t.perm != nullptr ? tile_operand(columns, params.perm.strides()) : t.y_at;
  t.perm_width = params.perm.width();
  t.width = columns.width, t.rows = rows.longest, t.ragged = !rows.uniform;
  t.group = t.rows, t.destinations = nullptr;
  for (int lane = 0; lane < tile_columns; ++lane) {
    t.valid[lane] = lane < t.width ? rows.valid[lane] : 0;
    t.flip[lane] = 0;
  }
  columns.for_each([&](int lane, index_t, index_t channel) {
    if (!ascends(params.order, channel, columns.extents.channels))
      t.flip[lane] = static_cast<bits_t<T>>(~bits_t<T>{0});
  });
  t.stream = worth_streaming<T>(columns.extents) && t.y_at.on_lines(t.y, sizeof(T)) &&
             (t.perm == nullptr || t.perm_at.on_lines(t.perm, static_cast<index_t>(t.perm_width)));
  t.stream_perm = t.stream;
}

// Copies the rows past the longest column of the tile; in the permutation each stands for itself.
template <class T>
void copy_rows_past_tile(column_tile<T> const& t, index_t length) {
  for (int c = 0; c < t.width; ++c)
    for (index_t i = t.rows; i < length; ++i) {
      t.y[t.y_at.start[c] + i * t.y_at.pitch] = t.x[t.x_at.start[c] + i * t.x_at.pitch];
      if (t.perm == nullptr) continue;
      index_t const at = t.perm_at.start[c] + i * t.perm_at.pitch;
      if (t.perm_width == index_width::bits16)
        static_cast<std::uint16_t*>(t.perm)[at] = static_cast<std::uint16_t>(i);
      else
        static_cast<std::uint32_t*>(t.perm)[at] = static_cast<std::uint32_t>(i);
    }
}

// Sorts all columns; scratch_of(slot) is the sort_scratch of a slot.
template <class T, class Order, class ScratchOf>
void sort_columns(host_exec const& exec, columns_to_sort<T, Order> const& params,
                  ScratchOf const& scratch_of) {
  extents3 const e = params.x.extents();
  tile_sort<T> const sort_tiles =
      tile_sort_of<T>(chosen_isa(exec.instructions), params.perm.data() != nullptr);
  sort_task<T> const shape(e, exec.threads);
  for_each_task(exec, shape.count(e), [&](unsigned slot, index_t task) {
    sort_scratch<T> scratch = scratch_of(slot);
    column_tile<T> tiles[2];
    int const count = shape.radix ? 1 : tiles_in_task(e, task, shape.tiles);
    auto const open = [&](int i) {
      open_tile(params, columns_of_tile(e, task * shape.tiles + i, shape.columns / shape.tiles),
                tiles[i]);
      tiles[i].scratch = scratch.networks[i];
    };
    open(0);
    if (count > 1) open(1);
    if (shape.radix)
      scratch.radix.run(tiles[0]);
    else
      sort_tiles(tiles, count);
    for (int i = 0; i < count; ++i) copy_rows_past_tile(tiles[i], e.length);
  });
}

SLICESORT_DETAIL_END
