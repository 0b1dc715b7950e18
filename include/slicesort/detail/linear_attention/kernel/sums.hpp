// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of tiles: of features times other numbers of a row; and the sums of the tiles
// before each tile, or of all.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/linear_attention/kernel/product_tile.hpp>
#include <slicesort/detail/linear_attention/kernel/rows.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// Numbers for every tile of a pair. There is room for `slots` tiles, one at least.
template <class A>
struct tile_sums {
  A* data;
  index_t slots, size;

  SLICESORT_HD A* of(index_t pair, index_t tile) const {
    return data + (pair * slots + tile) * size;
  }
};

// The left matrix of a tile, transposed, times the right one: [column of left][column of right].
template <class T>
struct tile_sums_body {
  static constexpr int max_threads = linear_threads;
  using A = detail::accumulator_t<T>;
  using tile = product_tile<A>;

  linear_pairs pairs;
  linear_side side;
  A const* left;  // [pair][row][left_pitch], of which `left_width` columns
  index_t left_pitch, left_width;
  A const* factors;  // [pair][row] of left; or null
  linear_operand<T> right;
  index_t right_width;
  tile_sums<A> to;

  template <class SharedAllocator>
  SLICESORT_HD product_memory<A> shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t row_tiles() const { return tiles_of_columns(left_width); }
  SLICESORT_HD index_t column_tiles() const { return tiles_of_columns(right_width); }
  index_t blocks() const { return pairs.count * side.tiles() * row_tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    product_memory<A> const memory = shared(block);
    index_t const row = block.index() / column_tiles() % row_tiles() * linear_tile;
    index_t const column = block.index() % column_tiles() * linear_tile;
    linear_block const at(block.index() / (row_tiles() * column_tiles()), side.tiles(), 1);
    int const rows = side.valid_of_tile(pairs.sample(at.pair), at.tile);
    index_t const first = at.pair * side.rows + at.row();
    A const* const from = left + first * left_pitch + row;
    A const* const factor = factors == nullptr ? nullptr : factors + first;
    linear_matrix<T> const with = right.of(pairs, at.pair);
    tile products;
    products.clear();
    products.template add<false, false>(
        block, memory, rows,
        [&](int f, index_t j) {
          return row + f < left_width ? times_factor(block, from[j * left_pitch + f], factor, j)
                                      : A(0);
        },
        [&](index_t j, int c) {
          return column + c < right_width ? with(at.row() + j, column + c) : A(0);
        });
    A* const sums = to.of(at.pair, at.tile);
    products.each(block.rank(), [&](int f, int c, A sum) {
      if (row + f < left_width && column + c < right_width)
        sums[(row + f) * right_width + column + c] = sum;
    });
  }
};

// The same with one number of each row in place of the right matrix, or with 1. A thread takes a
// column.
template <class A>
struct weighted_sums_body {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  linear_side side;
  A const* left;     // [pair][row][size of `to`]
  A const* factors;  // [pair][row] of left; or null
  A const* weights;  // [pair][row]; null: 1
  tile_sums<A> to;

  SLICESORT_HD index_t column_tiles() const { return divide_up(to.size, index_t{linear_threads}); }
  index_t blocks() const { return pairs.count * side.tiles() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    linear_block const at(block.index() / column_tiles(), side.tiles(), 1);
    index_t const f = block.index() % column_tiles() * linear_threads + block.rank();
    if (f >= to.size) return;
    int const rows = side.valid_of_tile(pairs.sample(at.pair), at.tile);
    index_t const first = at.pair * side.rows + at.row();
    A const* const from = left + first * to.size + f;
    A const* const factor = factors == nullptr ? nullptr : factors + first;
    A sum(0);
    SLICESORT_UNROLL_4
    for (int j = 0; j < rows; ++j) {
      A const one = times_factor(block, from[j * to.size], factor, j);
      sum = block.fused_multiply_add(one, weights == nullptr ? A(1) : weights[first + j], sum);
    }
    to.of(at.pair, at.tile)[f] = sum;
  }
};

// Makes of the sums of tiles those of the tiles before each, or of all tiles together. A thread
// takes one of the numbers through all tiles.
template <class A>
struct scan_body {
  static constexpr int max_threads = linear_threads;
  static constexpr int batch = 4;  // tiles that are read at once

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
    SLICESORT_NO_UNROLL
    for (index_t first = 0; first < tiles; first += batch) {
      A some[batch];
      SLICESORT_UNROLL
      for (int i = 0; i < batch; ++i) some[i] = first + i < tiles ? *at(pair, first + i, n) : A(0);
      SLICESORT_UNROLL
      for (int i = 0; i < batch; ++i) {
        if (first + i >= tiles) continue;
        A const keeps = kept == nullptr ? A(1) : kept[pair * tiles + tile_of(first + i)];
        if (result == nullptr) *at(pair, first + i, n) = sum;
        sum = block.fused_multiply_add(sum, keeps, some[i]);
      }
    }
    if (result != nullptr) *result = sum;
  }

 private:
  SLICESORT_HD_INLINE index_t tile_of(index_t i) const { return from_last ? tiles - 1 - i : i; }
  SLICESORT_HD_INLINE A* at(index_t pair, index_t i, index_t n) const {
    return sums.of(pair, tile_of(i)) + n;
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
