// SPDX-License-Identifier: Apache-2.0
// The maxima that features of random_exp are relative to, and, where attention is causal, the
// factors by which sums follow them.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// The maximum of no numbers. A NaN is never a maximum.
template <class A>
SLICESORT_HD_INLINE A lowest_maximum() {
  return -bit_cast<A>(dtype_traits<A>::infinity);
}
struct higher_maximum {
  template <class A>
  SLICESORT_HD_INLINE A operator()(A a, A b) const {
    return a < b ? b : a;
  }
};

// Of every row.
template <class A>
struct row_maxima_kernel {
  static constexpr int max_threads = linear_threads;
  static constexpr int lanes = 16;

  linear_pairs pairs;
  linear_side side;
  index_t width;     // of a row
  A const* numbers;  // [pair][row][width]
  A* maxima;         // [pair][row]

  index_t blocks() const { return pairs.count * side.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    linear_block const at(pairs, block.index(), side.tiles(), 1);
    int const rows = side.valid_of_tile(at.sample, at.tile);
    index_t const first = at.pair * side.rows + at.row();
    int const lane = block.rank() % lanes;
    SLICESORT_NO_UNROLL
    for (int turn = 0; turn < linear_tile; turn += linear_threads / lanes) {
      int const row = turn + block.rank() / lanes;
      A most = lowest_maximum<A>();
      if (row < rows)
        for (index_t k = lane; k < width; k += lanes)
          most = higher_maximum{}(most, numbers[(first + row) * width + k]);
      most = block.template reduce<lanes>(most, higher_maximum{});
      if (row < rows && lane == 0) maxima[first + row] = most;
    }
  }
};

// Of keys, from their own: the running maximum, which stays after the last valid key; or that of
// all valid ones, for each; 0 where there are none. A block takes a pair, a thread some neighboring
// keys.
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
    A* const parts = shared(block);
    index_t const pair = block.index(), valid = keys.valid(pairs.sample(pair));
    index_t const each = divide_up(keys.rows, index_t{linear_threads});
    index_t const begin = each * block.rank(),
                  end = begin + each < keys.rows ? begin + each : keys.rows;
    A* const of = maxima + pair * keys.rows;
    higher_maximum const higher;
    A most = lowest_maximum<A>();
    for (index_t j = begin; j < end && j < valid; ++j) most = higher(most, of[j]);
    parts[block.rank()] = most;
    block.sync();
    most = valid > 0 ? lowest_maximum<A>() : A(0);
    int const before = running ? block.rank() : linear_threads;
    for (int i = 0; i < before && valid > 0; ++i) most = higher(most, parts[i]);
    for (index_t j = begin; j < end; ++j) {
      if (j < valid) most = higher(most, of[j]);
      of[j] = most;
    }
  }
};

// Where a maximum went from m to m', what was summed is multiplied by exp(m - m').
template <class A>
struct linear_factors {
  A* since_tile;  // [pair][row], from the maximum before the tile to the row's
  A* to_end;      // [pair][row], from the row's to that at the end of the tile
  A* of_step;     // [pair][row], from that of the row before
  A* of_tile;     // [pair][tile], from that before the tile to that at its end
};

template <class A>
struct factors_kernel {
  static constexpr int max_threads = linear_tile;

  linear_pairs pairs;
  linear_side keys;
  A const* maxima;  // [pair][row], running
  linear_factors<A> to;

  index_t blocks() const { return pairs.count * keys.tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    using numbers = single_numbers<Block, A>;
    using math = feature_math<numbers>;
    numbers const ops{block};
    auto const factor = [&](A old, A now) {
      return math::exponential(ops, math::sum(ops, old, -now));
    };
    linear_block const at(pairs, block.index(), keys.tiles(), 1);
    A const* const of = maxima + at.pair * keys.rows;
    int const rows = keys.rows_of_tile(at.tile);
    A const before = of[at.row() > 0 ? at.row() - 1 : 0], end = of[at.row() + rows - 1];
    if (block.rank() == 0) to.of_tile[block.index()] = factor(before, end);
    if (block.rank() >= rows) return;
    index_t const row = at.row() + block.rank(), n = at.pair * keys.rows + row;
    to.since_tile[n] = factor(before, of[row]);
    to.to_end[n] = factor(of[row], end);
    to.of_step[n] = factor(of[row > 0 ? row - 1 : 0], of[row]);
  }
};

SLICESORT_DETAIL_END
