// SPDX-License-Identifier: Apache-2.0
// Permutes columns on the host: in tiles of 32, shared among threads.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/permutation/host/permute_tile.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// out[perm[n]] = in[n], or with `gather` out[n] = in[perm[n]]; or += if `mode` accumulates.
template <class T>
struct columns_to_permute {
  tensor3<T const> in;
  tensor3<T> out;  // may be in
  const_index_tensor3 perm;
  bool gather = false;
  grad_mode mode = grad_mode::overwrite;
  tensor1<index_t const> lengths{};  // [batch], or none: rows past them stay where they are
};

// What a task permutes. Two tiles at a time, where both stay in a second-level cache of a megabyte
// or are narrow.
template <class T>
struct permute_task {
  int tiles;

  permute_task(extents3 e, unsigned threads)
      : tiles(sizeof(T) == 2 || e.length <= 4096 ? tiles_of_task(e, threads) : 1) {}
  // How many tasks a call is.
  index_t count(extents3 e) const { return e.empty() ? 0 : tiles_of(e, tiles * tile_columns); }
};

// The workspace of one task.
template <class T>
struct permute_scratch {
  T* tiles[2] = {};

  permute_scratch() = default;
  permute_scratch(arena& a, extents3 e, unsigned threads) {
    for (int i = 0; i < permute_task<T>(e, threads).tiles; ++i)
      tiles[i] = a.take<T>(tile_columns * static_cast<std::size_t>(e.length));
  }
};

template <class T>
void open_tile(columns_to_permute<T> const& params, column_range const& columns, T* scratch,
               permuted_tile<T>& t) {
  extents3 const e = params.in.extents();
  tile_rows const rows(columns, params.lengths);
  t.in = params.in.data(), t.in_at = {columns, params.in.strides()};
  t.out = params.out.data(), t.out_at = {columns, params.out.strides()};
  t.perm = params.perm.data(), t.perm_layout = {columns, params.perm.strides()};
  t.perm_width = params.perm.width();
  t.width = columns.width, t.rows = e.length, t.gather = params.gather, t.mode = params.mode;
  t.ragged = !rows.uniform || rows.longest < e.length;
  for (int lane = 0; lane < t.width; ++lane) t.valid[lane] = rows.valid[lane];
  t.scratch = scratch;
  t.stream = worth_streaming<T>(e) && t.out_at.on_lines(t.out, sizeof(T));
}

// Permutes all columns; scratch_of(slot) is the permute_scratch of a slot.
template <class T, class ScratchOf>
void permute_columns(host_exec const& exec, columns_to_permute<T> const& params,
                     ScratchOf const& scratch_of) {
  extents3 const e = params.in.extents();
  permute_task<T> const shape(e, exec.threads);
  for_each_task(exec, shape.count(e), [&](unsigned slot, index_t task) {
    permute_scratch<T> const scratch = scratch_of(slot);
    permuted_tile<T> tiles[2];
    int const count = tiles_in_task(e, task, shape.tiles);
    auto const open = [&](int i) {
      open_tile(params, columns_of_tile(e, task * shape.tiles + i, tile_columns), scratch.tiles[i],
                tiles[i]);
    };
    open(0);
    if (count > 1) open(1);
    permute_tiles(tiles, count);
  });
}

SLICESORT_DETAIL_END
