// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of tiles: of features times other numbers of a row; and the sums of the tiles
// before each tile, or of all.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/tensor_product_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// For every tile of a pair a matrix, and then a number for each of its rows, if they are there.
// There is room for `slots` tiles, one at least.
template <class A>
struct tile_sums {
  A* data;
  index_t slots, size;    // size of a slot
  index_t rows, columns;  // of the matrix

  SLICESORT_HD A* of(index_t pair, index_t tile) const {
    return data + (pair * slots + tile) * size;
  }
  SLICESORT_HD A* row_sums(index_t pair, index_t tile) const {
    return of(pair, tile) + rows * columns;
  }
  SLICESORT_HD linear_matrix<A> matrix(index_t pair, index_t tile) const {
    return matrix_of_elements<A>(of(pair, tile), columns, 1);
  }
};

// The left matrix of a tile, transposed, times the right one; and beside it the sums of the left
// one's columns, times a number of each row.
template <class T, products Kind>
struct tile_sums_kernel {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = tile_of_products<T, Kind>;
  static constexpr int min_blocks = tile::min_blocks;

  linear_pairs pairs;
  linear_side side;
  feature_operand<T> left;
  A const* factors;  // [pair][row] of left; or null
  linear_operand<T> right;
  bool sums_rows;
  A const* weights;  // [pair][row], of the sums of columns; null: 1
  tile_sums<A> to;   // its rows are columns of left

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t row_tiles() const { return tiles_of_columns(to.rows); }
  // At least one, which sums columns.
  SLICESORT_HD index_t column_tiles() const {
    index_t const tiles = tiles_of_columns(to.columns);
    return tiles > 0 ? tiles : 1;
  }
  index_t blocks() const { return pairs.count * side.tiles() * row_tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    index_t const row = block.index() / column_tiles() % row_tiles() * linear_tile;
    index_t const column = block.index() % column_tiles() * linear_tile;
    linear_block const at(pairs, block.index() / (row_tiles() * column_tiles()), side.tiles(), 1);
    int const rows = side.valid_of_tile(at.sample, at.tile);
    index_t const first = at.pair * side.rows + at.row();
    A const* const factor = factors == nullptr ? nullptr : factors + first;
    A const* const weight = weights == nullptr ? nullptr : weights + first;
    int const f = block.rank();
    bool const of_columns = sums_rows && column == 0 && f < linear_tile && row + f < to.rows;
    A sum_of_column(0);
    tile products;
    products.clear();
    products.add(block, memory, rows,
                 operand_of<false>(left.of(at), at.row(), row, to.rows - row, factor),
                 operand_of<false>(right.of(at), at.row(), column, to.columns - column),
                 [&](index_t j, int some) {
                   if (!of_columns) return;
                   SLICESORT_NO_UNROLL
                   for (int group = 0; group < some; group += 8)
                     tile::each_left(memory, f, group, some, [&](int i, A number) {
                       A const by = weight == nullptr ? A(1) : weight[j + group + i];
                       sum_of_column = block.fused_multiply_add(number, by, sum_of_column);
                     });
                 });
    A* const sums = to.of(at.pair, at.tile) + row * to.columns + column;
    int const height = within_tile(to.rows - row), width = within_tile(to.columns - column);
    products.each(block.rank(), [&](int r, int c, A sum) {
      if (r < height && c < width) sums[r * to.columns + c] = sum;
    });
    if (of_columns) to.row_sums(at.pair, at.tile)[row + f] = sum_of_column;
  }
};

// Makes of the sums of tiles those of the tiles before each, or of all tiles together. A thread
// takes one of the numbers through all tiles.
template <class A>
struct scan_kernel {
  static constexpr int max_threads = linear_threads;
  static constexpr int batch = 8;  // tiles that are read at once

  tile_sums<A> sums;
  index_t pairs, tiles;
  bool from_last;  // whether the tiles before are those behind
  A const* kept;   // [pair][tile], what a tile leaves of the sums before it; null: 1
  A* total;        // [pair][total_pitch], of all tiles; null: of those before each, in place
  index_t total_pitch;
  bool begins;  // whether the total begins with 0; else with what it was

  SLICESORT_HD index_t number_tiles() const {
    return divide_up(sums.size, index_t{linear_threads});
  }
  index_t blocks() const { return pairs * number_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const pair = block.index() / number_tiles();
    index_t const n = block.index() % number_tiles() * linear_threads + block.rank();
    if (n >= sums.size) return;
    A* const result = total == nullptr ? nullptr : total + pair * total_pitch + n;
    A sum = result == nullptr || begins ? A(0) : *result;
    index_t const first = from_last ? tiles - 1 : 0, step = from_last ? -sums.size : sums.size;
    A* at = sums.of(pair, first) + n;
    A const* keeps = kept == nullptr ? nullptr : kept + pair * tiles + first;
    SLICESORT_NO_UNROLL
    for (index_t done = 0; done < tiles; done += batch) {
      int const count = tiles - done < batch ? static_cast<int>(tiles - done) : batch;
      A some[batch];
      SLICESORT_UNROLL
      for (int i = 0; i < batch; ++i) some[i] = i < count ? at[i * step] : A(0);
      SLICESORT_UNROLL
      for (int i = 0; i < batch; ++i) {
        if (i >= count) continue;
        if (result == nullptr) at[i * step] = sum;
        sum = block.fused_multiply_add(sum, keeps == nullptr ? A(1) : *keeps, some[i]);
        if (keeps != nullptr) keeps += from_last ? -1 : 1;
      }
      at += batch * step;
    }
    if (result != nullptr) *result = sum;
  }
};

SLICESORT_DETAIL_END
