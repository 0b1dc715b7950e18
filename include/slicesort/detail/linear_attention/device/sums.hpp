// SPDX-License-Identifier: Apache-2.0
// Per-tile products lhs^T rhs, such as phi(K)^T V, and their prefix sums over the tiles of a
// sequence.
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

// One matrix lhs^T rhs per tile of each (sample, head) pair, optionally followed by the column sums
// of lhs: S and Z, or U and u, of params.hpp. `tiles` is at least 1.
template <class A>
struct tile_sums {
  A* data;
  index_t tiles, size;    // tiles per pair; elements per tile
  index_t rows, columns;  // matrix extents: columns of lhs and of rhs

  // One matrix for each group of pairs, the first one of the group.
  tile_sums of_groups(index_t group) const { return {data, tiles * group, size, rows, columns}; }
  SLICESORT_HD A* begin(index_t pair, index_t tile) const {
    return data + (pair * tiles + tile) * size;
  }
  SLICESORT_HD A* column_sums(index_t pair, index_t tile) const {
    return begin(pair, tile) + rows * columns;
  }
  SLICESORT_HD linear_matrix<A> matrix(index_t pair, index_t tile) const {
    return make_tensor_matrix<A>(begin(pair, tile), columns, 1);
  }
};

// Computes lhs^T rhs of each tile and, optionally, weighted column sums of lhs.
template <class T, products Products>
struct tile_sums_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = product_tile_t<T, Products>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_operand<T> lhs;
  A const* lhs_factors;  // [pair of k][row]: scales the rows of lhs; null means 1
  linear_operand<T> rhs;
  bool needs_column_sums;
  A const* row_weights;  // [pair][row]: weights of the lhs rows in the column sums; null means 1
  tile_sums<A> sums;

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t lhs_column_tile_count() const { return count_column_tiles(sums.rows); }
  // At least 1, because the first tile also computes the column sums.
  SLICESORT_HD index_t column_tile_count() const {
    index_t const tiles = count_column_tiles(sums.columns);
    return tiles > 0 ? tiles : 1;
  }
  index_t blocks() const {
    return row_tiles::blocks() * lhs_column_tile_count() * column_tile_count();
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    index_t const lhs_column =
        block.index() / column_tile_count() % lhs_column_tile_count() * linear_tile;
    index_t const rhs_column = block.index() % column_tile_count() * linear_tile;
    tile_position const position =
        position_of(block.index() / (lhs_column_tile_count() * column_tile_count()));
    int const rows = position.rows;
    index_t const row_offset = position.row_offset;
    A const* const tile_factors =
        lhs_factors == nullptr ? nullptr : lhs_factors + this->kv_row_offset(position);
    A const* const tile_weights = row_weights == nullptr ? nullptr : row_weights + row_offset;
    int const f = block.rank();
    bool const sums_column =
        needs_column_sums && rhs_column == 0 && f < linear_tile && lhs_column + f < sums.rows;
    A column_sum(0);
    tile products;
    products.clear();
    products.add(block, memory, rows,
                 make_operand<false>(lhs.ungrouped_matrix(position), position.first_row(),
                                     lhs_column, sums.rows - lhs_column, tile_factors),
                 make_operand<false>(rhs.ungrouped_matrix(position), position.first_row(),
                                     rhs_column, sums.columns - rhs_column),
                 [&](index_t j, int count) {
                   if (!sums_column) return;
                   SLICESORT_NO_UNROLL
                   for (int group = 0; group < count; group += 8)
                     tile::for_each_lhs(memory, f, group, count, [&](int i, A value) {
                       A const weight =
                           tile_weights == nullptr ? A(1) : tile_weights[j + group + i];
                       column_sum = block.fused_multiply_add(value, weight, column_sum);
                     });
                 });
    A* const out =
        sums.begin(position.pair, position.tile) + lhs_column * sums.columns + rhs_column;
    int const result_rows = clamp_to_tile(sums.rows - lhs_column),
              result_columns = clamp_to_tile(sums.columns - rhs_column);
    products.for_each(block.rank(), [&](int r, int c, A sum) {
      if (r < result_rows && c < result_columns) out[r * sums.columns + c] = sum;
    });
    if (sums_column) sums.column_sums(position.pair, position.tile)[lhs_column + f] = column_sum;
  }
};

// Exclusive scan of the tile sums, in place, or their total. Sums the pairs of a group in order, to
// the first one. Each thread handles one element of all tiles.
template <class A>
struct scan_kernel {
  static constexpr int max_threads = linear_threads;
  static constexpr int tiles_at_once = 8;  // loaded before they are added

  tile_sums<A> sums;
  index_t groups, group, tiles;  // groups of pairs; pairs of a group
  bool reverse;                  // scans from the last tile to the first
  A const* tile_factors;         // [group][tile]: rescales the sums before the tile; null means 1
  A* total;                      // [group][total_pitch]: sum of all tiles; if null, scans in place
  index_t total_pitch;
  bool overwrites_total;  // true if the total starts at 0, false if it adds to the stored value
  A const* start;         // [group][size]: sums before the first tile scanned; null means 0
  A* end;                 // [group][size]: receives the sums after the last tile scanned, or null

  SLICESORT_HD index_t blocks_per_group() const {
    return divide_up(sums.size, index_t{linear_threads});
  }
  index_t blocks() const { return groups * blocks_per_group(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const g = block.index() / blocks_per_group();
    index_t const n = block.index() % blocks_per_group() * linear_threads + block.rank();
    if (n >= sums.size) return;
    A* const result = total == nullptr ? nullptr : total + g * total_pitch + n;
    A sum = result == nullptr || overwrites_total ? A(0) : *result;
    if (start != nullptr) sum = start[g * sums.size + n];
    index_t const first_tile = reverse ? tiles - 1 : 0, stride = reverse ? -sums.size : sums.size;
    A* element = sums.begin(g * group, first_tile) + n;
    A const* factor = tile_factors == nullptr ? nullptr : tile_factors + g * tiles + first_tile;
    SLICESORT_NO_UNROLL
    for (index_t done = 0; done < tiles; done += tiles_at_once) {
      int const count =
          tiles - done < tiles_at_once ? static_cast<int>(tiles - done) : tiles_at_once;
      A loaded[tiles_at_once];
      SLICESORT_UNROLL
      for (int i = 0; i < tiles_at_once; ++i) loaded[i] = i < count ? element[i * stride] : A(0);
      SLICESORT_UNROLL
      for (int i = 0; i < tiles_at_once; ++i) {
        if (i >= count) continue;
        if (result == nullptr) element[i * stride] = sum;
        sum = block.fused_multiply_add(sum, factor == nullptr ? A(1) : *factor, loaded[i]);
        if (factor != nullptr) factor += reverse ? -1 : 1;
        SLICESORT_NO_UNROLL
        for (index_t pair = 1; pair < group; ++pair)
          sum = block.fused_multiply_add(sum, A(1),
                                         element[i * stride + pair * sums.tiles * sums.size]);
      }
      element += tiles_at_once * stride;
    }
    if (result != nullptr) *result = sum;
    if (end != nullptr) end[g * sums.size + n] = sum;
  }
};

SLICESORT_DETAIL_END
