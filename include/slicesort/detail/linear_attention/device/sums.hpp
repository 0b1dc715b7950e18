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

// One matrix per tile of each (sample, head) pair, optionally followed by one sum per matrix row.
// `tiles` is at least 1.
template <class A>
struct tile_sums {
  A* data;
  index_t tiles, size;    // tiles per pair; elements per tile
  index_t rows, columns;  // extents of the matrix

  SLICESORT_HD A* begin(index_t pair, index_t tile) const {
    return data + (pair * tiles + tile) * size;
  }
  SLICESORT_HD A* row_sums(index_t pair, index_t tile) const {
    return begin(pair, tile) + rows * columns;
  }
  SLICESORT_HD linear_matrix<A> matrix(index_t pair, index_t tile) const {
    return make_tensor_matrix<A>(begin(pair, tile), columns, 1);
  }
};

// Computes lhs^T rhs of each tile, and optionally the column sums of lhs, weighted by `weights`.
template <class T, products Kind>
struct tile_sums_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;
  using tile = product_tile_t<T, Kind>;
  static constexpr int min_blocks = tile::min_blocks;

  feature_operand<T> lhs;
  A const* factors;  // [pair][row]: scales the rows of lhs; null means 1
  linear_operand<T> rhs;
  bool sums_rows;
  A const* weights;   // [pair][row]: weights of the column sums; null means 1
  tile_sums<A> sums;  // sums.rows is the number of columns of lhs

  template <class SharedAllocator>
  SLICESORT_HD typename tile::operands shared(SharedAllocator& memory) const {
    return tile::shared(memory);
  }
  SLICESORT_HD index_t row_tile_count() const { return count_column_tiles(sums.rows); }
  // At least 1, because the first tile also computes the column sums.
  SLICESORT_HD index_t column_tiles() const {
    index_t const tiles = count_column_tiles(sums.columns);
    return tiles > 0 ? tiles : 1;
  }
  index_t blocks() const { return row_tiles::blocks() * row_tile_count() * column_tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const memory = shared(block);
    index_t const row = block.index() / column_tiles() % row_tile_count() * linear_tile;
    index_t const column = block.index() % column_tiles() * linear_tile;
    tile_position const position = position_of(block.index() / (row_tile_count() * column_tiles()));
    int const rows = position.rows;
    index_t const first = position.first;
    A const* const factor = factors == nullptr ? nullptr : factors + first;
    A const* const weight = weights == nullptr ? nullptr : weights + first;
    int const f = block.rank();
    bool const sums_column = sums_rows && column == 0 && f < linear_tile && row + f < sums.rows;
    A column_sum(0);
    tile products;
    products.clear();
    products.add(
        block, memory, rows,
        make_operand<false>(lhs.matrix(position), position.row(), row, sums.rows - row, factor),
        make_operand<false>(rhs.matrix(position), position.row(), column, sums.columns - column),
        [&](index_t j, int count) {
          if (!sums_column) return;
          SLICESORT_NO_UNROLL
          for (int group = 0; group < count; group += 8)
            tile::for_each_lhs(memory, f, group, count, [&](int i, A value) {
              A const row_weight = weight == nullptr ? A(1) : weight[j + group + i];
              column_sum = block.fused_multiply_add(value, row_weight, column_sum);
            });
        });
    A* const out = sums.begin(position.pair, position.tile) + row * sums.columns + column;
    int const height = within_tile(sums.rows - row), width = within_tile(sums.columns - column);
    products.for_each(block.rank(), [&](int r, int c, A sum) {
      if (r < height && c < width) out[r * sums.columns + c] = sum;
    });
    if (sums_column) sums.row_sums(position.pair, position.tile)[row + f] = column_sum;
  }
};

// Exclusive scan of the tile sums, in place, or their total. Each thread handles one element of all
// tiles.
template <class A>
struct scan_kernel {
  static constexpr int max_threads = linear_threads;
  static constexpr int batch = 8;  // tiles loaded at once

  tile_sums<A> sums;
  index_t pairs, tiles;
  bool from_last;  // scans from the last tile to the first
  A const* decay;  // [pair][tile]: rescales the sums before the tile; null means 1
  A* total;        // [pair][total_pitch]: sum of all tiles; if null, scans in place
  index_t total_pitch;
  bool begins;  // true if the total starts at 0, false if it adds to the stored value

  SLICESORT_HD index_t blocks_per_pair() const {
    return divide_up(sums.size, index_t{linear_threads});
  }
  index_t blocks() const { return pairs * blocks_per_pair(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const pair = block.index() / blocks_per_pair();
    index_t const n = block.index() % blocks_per_pair() * linear_threads + block.rank();
    if (n >= sums.size) return;
    A* const result = total == nullptr ? nullptr : total + pair * total_pitch + n;
    A sum = result == nullptr || begins ? A(0) : *result;
    index_t const first = from_last ? tiles - 1 : 0, step = from_last ? -sums.size : sums.size;
    A* element = sums.begin(pair, first) + n;
    A const* factor = decay == nullptr ? nullptr : decay + pair * tiles + first;
    SLICESORT_NO_UNROLL
    for (index_t done = 0; done < tiles; done += batch) {
      int const count = tiles - done < batch ? static_cast<int>(tiles - done) : batch;
      A loaded[batch];
      SLICESORT_UNROLL
      for (int i = 0; i < batch; ++i) loaded[i] = i < count ? element[i * step] : A(0);
      SLICESORT_UNROLL
      for (int i = 0; i < batch; ++i) {
        if (i >= count) continue;
        if (result == nullptr) element[i * step] = sum;
        sum = block.fused_multiply_add(sum, factor == nullptr ? A(1) : *factor, loaded[i]);
        if (factor != nullptr) factor += from_last ? -1 : 1;
      }
      element += batch * step;
    }
    if (result != nullptr) *result = sum;
  }
};

SLICESORT_DETAIL_END
