// SPDX-License-Identifier: Apache-2.0
// Maxima that random_exp subtracts from its exponents. For causal calls, also the factors that
// rescale sums when the running maximum grows.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Maximum that ignores NaN in `b`.
struct max_op {
  template <class A>
  SLICESORT_HD_INLINE A operator()(A a, A b) const {
    return a < b ? b : a;
  }
};

// Computes the maximum of each row.
template <class A>
struct row_maxima_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  static constexpr int lanes = 16;

  index_t width;    // elements per row
  A const* values;  // [pair][row][width]
  A* maxima;        // [pair][row]

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    tile_position const position = position_of(block.index());
    int const lane = block.rank() % lanes;
    SLICESORT_NO_UNROLL
    for (int begin = 0; begin < linear_tile; begin += linear_threads / lanes) {
      int const row = begin + block.rank() / lanes;
      A maximum = minus_infinity<A>();
      if (row < position.rows)
        for (index_t k = lane; k < width; k += lanes)
          maximum = max_op{}(maximum, values[(position.row_offset + row) * width + k]);
      maximum = block.template reduce<lanes>(maximum, max_op{});
      if (row < position.rows && lane == 0) maxima[position.row_offset + row] = maximum;
    }
  }
};

// Replaces the maximum of each key by the running maximum if causal, else by the maximum of all
// valid keys. Padding rows get the last valid result, or 0 if no key is valid. Each block computes
// one (sample, head) pair, and each thread a contiguous chunk of keys.
template <class A>
struct key_maxima_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  linear_side keys;
  bool causal;
  A* maxima;  // [pair][row]

  template <class SharedAllocator>
  SLICESORT_HD A* shared(SharedAllocator& memory) const {
    return memory.template allocate<A>(linear_threads);
  }
  index_t blocks() const { return keys.rows == 0 ? 0 : pairs.count; }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    A* const partial = shared(block);
    index_t const pair = block.index(), valid = keys.valid_row_count(pairs.sample(pair));
    index_t const rows_per_thread = divide_up(keys.rows, index_t{linear_threads});
    index_t const begin = rows_per_thread * block.rank(),
                  end = begin + rows_per_thread < keys.rows ? begin + rows_per_thread : keys.rows;
    A* const rows = maxima + pair * keys.rows;
    max_op const max;
    A maximum = minus_infinity<A>();
    for (index_t j = begin; j < end && j < valid; ++j) maximum = max(maximum, rows[j]);
    partial[block.rank()] = maximum;
    block.sync();
    maximum = valid > 0 ? minus_infinity<A>() : A(0);
    int const thread_count = causal ? block.rank() : linear_threads;
    for (int i = 0; i < thread_count && valid > 0; ++i) maximum = max(maximum, partial[i]);
    for (index_t j = begin; j < end; ++j) {
      if (j < valid) maximum = max(maximum, rows[j]);
      rows[j] = maximum;
    }
  }
};

// Factors exp(m - m') that rescale sums when the maximum grows from m to m'.
template <class A>
struct rescale_factors {
  A* from_tile_start;  // [pair][row]: from the maximum before the tile to the maximum at the row
  A* to_tile_end;  // [pair][row]: from the maximum at the row to the maximum at the end of the tile
  A* per_row;      // [pair][row]: from the maximum at the previous row to the maximum at the row
  A* per_tile;     // [pair][tile]: from the maximum before the tile to the maximum at its end
};

template <class A>
struct factors_kernel {
  static constexpr int max_threads = linear_tile;

  linear_pairs pairs;
  linear_side keys;
  A const* maxima;  // [pair][row]: running maxima
  rescale_factors<A> factors;
  A const* initial_maxima;  // [pair]: maxima before the first row; null means that of the first row

  index_t blocks() const { return pairs.count * keys.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using arithmetic = scalar_values<Block, A>;
    using math = feature_math<arithmetic>;
    arithmetic const ops{block};
    auto const factor = [&](A before, A after) {
      return math::exponential(ops, math::sum(ops, before, -after));
    };
    tile_position const position(pairs, keys, block.index(), 1);
    A const* const running = maxima + position.pair * keys.rows;
    int const rows = keys.rows_in_tile(position.tile);
    A const initial = initial_maxima == nullptr ? running[0] : initial_maxima[position.pair];
    A const before = position.first_row() > 0 ? running[position.first_row() - 1] : initial,
            end = running[position.first_row() + rows - 1];
    if (block.rank() == 0) factors.per_tile[block.index()] = factor(before, end);
    if (block.rank() >= rows) return;
    index_t const row = position.first_row() + block.rank(), n = position.pair * keys.rows + row;
    factors.from_tile_start[n] = factor(before, running[row]);
    factors.to_tile_end[n] = factor(running[row], end);
    factors.per_row[n] = factor(row > 0 ? running[row - 1] : initial, running[row]);
  }
};

SLICESORT_DETAIL_END
