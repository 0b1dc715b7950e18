// SPDX-License-Identifier: Apache-2.0
// Maxima that random_exp's features are relative to. For causal calls, also the factors that
// rescale sums when the maximum grows.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Maximum of an empty set. NaN is never a maximum.
template <class A>
SLICESORT_HD_INLINE A max_identity() {
  return -bit_cast<A>(dtype_traits<A>::infinity);
}
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

  index_t width;     // elements per row
  A const* numbers;  // [pair][row][width]
  A* maxima;         // [pair][row]

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    tile_position const position = position_of(block.index());
    int const lane = block.rank() % lanes;
    SLICESORT_NO_UNROLL
    for (int begin = 0; begin < linear_tile; begin += linear_threads / lanes) {
      int const row = begin + block.rank() / lanes;
      A maximum = max_identity<A>();
      if (row < position.rows)
        for (index_t k = lane; k < width; k += lanes)
          maximum = max_op{}(maximum, numbers[(position.first + row) * width + k]);
      maximum = block.template reduce<lanes>(maximum, max_op{});
      if (row < position.rows && lane == 0) maxima[position.first + row] = maximum;
    }
  }
};

// Computes the maxima of keys from their row maxima: running maxima, which rows past the last valid
// key repeat, or the maximum of all valid keys. The result is 0 without keys. Each block computes
// one (sample, head) pair, and each thread some adjacent keys.
template <class A>
struct key_maxima_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  linear_side keys;
  bool running;
  A* maxima;  // [pair][row]

  template <class SharedAllocator>
  SLICESORT_HD A* shared(SharedAllocator& memory) const {
    return memory.template allocate<A>(linear_threads);
  }
  index_t blocks() const { return keys.rows == 0 ? 0 : pairs.count; }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    A* const partial = shared(block);
    index_t const pair = block.index(), valid = keys.valid(pairs.sample(pair));
    index_t const rows_per_thread = divide_up(keys.rows, index_t{linear_threads});
    index_t const begin = rows_per_thread * block.rank(),
                  end = begin + rows_per_thread < keys.rows ? begin + rows_per_thread : keys.rows;
    A* const rows = maxima + pair * keys.rows;
    max_op const higher;
    A maximum = max_identity<A>();
    for (index_t j = begin; j < end && j < valid; ++j) maximum = higher(maximum, rows[j]);
    partial[block.rank()] = maximum;
    block.sync();
    maximum = valid > 0 ? max_identity<A>() : A(0);
    int const thread_count = running ? block.rank() : linear_threads;
    for (int i = 0; i < thread_count && valid > 0; ++i) maximum = higher(maximum, partial[i]);
    for (index_t j = begin; j < end; ++j) {
      if (j < valid) maximum = higher(maximum, rows[j]);
      rows[j] = maximum;
    }
  }
};

// Factors exp(m - m') that rescale sums when the maximum grows from m to m'.
template <class A>
struct rescale_factors {
  A* from_tile_start;  // [pair][row]: from the maximum before the tile to the maximum at the row
  A* to_end;   // [pair][row]: from the maximum at the row to the maximum at the end of the tile
  A* of_step;  // [pair][row]: from the maximum at the previous row to the maximum at the row
  A* of_tile;  // [pair][tile]: from the maximum before the tile to the maximum at its end
};

template <class A>
struct factors_kernel {
  static constexpr int max_threads = linear_tile;

  linear_pairs pairs;
  linear_side keys;
  A const* maxima;  // [pair][row]: running maxima
  rescale_factors<A> factors;

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
    int const rows = keys.rows_of_tile(position.tile);
    A const before = running[position.row() > 0 ? position.row() - 1 : 0],
            end = running[position.row() + rows - 1];
    if (block.rank() == 0) factors.of_tile[block.index()] = factor(before, end);
    if (block.rank() >= rows) return;
    index_t const row = position.row() + block.rank(), n = position.pair * keys.rows + row;
    factors.from_tile_start[n] = factor(before, running[row]);
    factors.to_end[n] = factor(running[row], end);
    factors.of_step[n] = factor(running[row > 0 ? row - 1 : 0], running[row]);
  }
};

SLICESORT_DETAIL_END
