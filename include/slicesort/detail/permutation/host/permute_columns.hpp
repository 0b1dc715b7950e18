// SPDX-License-Identifier: Apache-2.0
// Permutes columns on the host, in tiles of 32 that are distributed to threads.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/permutation/host/permute_tile.hpp>
#include <slicesort/detail/permutation/host/permute_transposed.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Tensors of a permutation: y[perm[n]] = x[n], or with `gather` y[n] = x[perm[n]]; adds to y if
// `mode` is accumulate.
template <class T>
struct columns_to_permute {
  tensor3<T const> x;
  tensor3<T> y;  // may be x
  const_index_tensor3 perm;
  bool gather = false;
  grad_mode mode = grad_mode::overwrite;
  tensor1<index_t const> lengths{};  // [batch], or empty; padding rows are copied unchanged
};

// Size of a task: two tiles if both fit in an L2 cache of 1 MB or have 16-bit elements, else one.
// Transposed tiles are tasks of their own.
template <class T>
struct permute_task {
  int tiles;

  permute_task(extents3 extents, unsigned threads)
      : tiles(!permutes_transposed<T>(extents.length) && (sizeof(T) == 2 || extents.length <= 4096)
                  ? tiles_per_task(extents, threads)
                  : 1) {}
  index_t task_count(extents3 extents) const {
    return extents.empty() ? 0 : count_tiles(extents, tiles * tile_columns);
  }
};

template <class T>
struct permute_scratch {
  T* tiles[2] = {};
  transposed_scratch<T> transposed;

  permute_scratch() = default;
  permute_scratch(arena& memory, extents3 extents, unsigned threads) {
    if (permutes_transposed<T>(extents.length)) {
      transposed = transposed_scratch<T>(memory, extents.length);
      return;
    }
    for (int i = 0; i < permute_task<T>(extents, threads).tiles; ++i)
      tiles[i] = memory.take<T>(tile_columns * static_cast<std::size_t>(extents.length));
  }
};

template <class T>
void set_up_tile(columns_to_permute<T> const& params, column_range const& columns, T* scratch,
                 permuted_tile<T>& tile) {
  extents3 const extents = params.x.extents();
  tile_rows const rows(columns, params.lengths);
  tile.x = params.x.data(), tile.x_layout = {columns, params.x.strides()};
  tile.y = params.y.data(), tile.y_layout = {columns, params.y.strides()};
  tile.perm = params.perm.data(), tile.perm_layout = {columns, params.perm.strides()};
  tile.perm_width = params.perm.width();
  tile.width = columns.width, tile.rows = extents.length, tile.gather = params.gather,
  tile.mode = params.mode;
  tile.ragged = !rows.uniform || rows.longest < extents.length;
  for (int lane = 0; lane < tile.width; ++lane) tile.valid[lane] = rows.valid[lane];
  tile.scratch = scratch;
  tile.stream = should_stream<T>(extents) && tile.y_layout.has_whole_cache_lines(tile.y, sizeof(T));
}

// Permutes all columns; scratch_of(thread) returns the scratch memory of a thread.
template <class T, class ScratchOf>
void permute_columns(host_exec const& exec, columns_to_permute<T> const& params,
                     ScratchOf const& scratch_of) {
  extents3 const extents = params.x.extents();
  permute_task<T> const task_shape(extents, exec.threads);
  bool const transposed = permutes_transposed<T>(extents.length);
  tile_transposes<T> const transposes(resolve_isa(exec.instructions));
  for_each_task(exec, task_shape.task_count(extents), [&](unsigned thread, index_t task) {
    permute_scratch<T> const scratch = scratch_of(thread);
    permuted_tile<T> tiles[2];
    int const count = tiles_in_task(extents, task, task_shape.tiles);
    auto const set_up = [&](int i) {
      set_up_tile(params, columns_per_tile(extents, task * task_shape.tiles + i, tile_columns),
                  scratch.tiles[i], tiles[i]);
    };
    set_up(0);
    if (transposed) return permute_transposed(tiles[0], transposes, scratch.transposed);
    if (count > 1) set_up(1);
    permute_tiles(tiles, count);
  });
}

SLICESORT_DETAIL_END
