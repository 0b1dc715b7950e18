// SPDX-License-Identifier: Apache-2.0
// Tiles of sparse_mix and the arguments of its SIMD kernels. A tile holds rows of up to 32 channels
// of one sample in the accumulator's type.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline constexpr int mix_columns = channel_block;  // pitch of a tile
inline constexpr int mix_max_dots_per_round = 16;
inline constexpr int mix_max_links_per_pass = 64;
inline constexpr int mix_max_staged_links = 16;  // the same, if weights are converted
inline constexpr int mix_rows_per_run = 8;
inline constexpr index_t mix_halo_rows = 64;          // free rows before and after a tile
inline constexpr index_t mix_min_grouped_rows = 512;  // shorter tiles stay in the L1 cache anyway
// Rows of one of two buffers in the L1 cache.
template <class A>
inline constexpr index_t mix_max_class_rows = 32768 /
                                              (mix_columns * static_cast<index_t>(sizeof(A)));

// Span of rows [first, last) of a factor in which no link wraps around the end of the sample. Link
// k of row i is at distance `row_offsets[k]` in the tile. Its weight is `weights[i * weight_pitch +
// weight[k]]`. Runs of `mix_rows_per_run` rows are `*_gap` rows apart in the tile or tensor.
template <class T>
struct row_span {
  using A = accumulator_t<T>;

  A const* start;  // initial sums; null means 0
  A const* input;
  A* output;  // rows of a tile, or null
  T* stream;  // rows of a tensor for streaming stores, or null
  index_t stream_pitch;
  A const* weights;
  index_t weight_pitch;
  index_t first, last;
  index_t input_gap, output_gap, tensor_gap;  // start and input; output; weights and stream
  int width, links;
  bool rounds_sums;  // true to round the sums to the element type
  index_t row_offsets[mix_max_links_per_pass], weight_offsets[mix_max_links_per_pass];
};

// Pairs of rows that a round multiplies, as offsets a[s] and b[s] in two tiles.
struct mix_dot_offsets {
  index_t a[mix_max_dots_per_round], b[mix_max_dots_per_round];
  index_t rows_per_round;  // step of both tiles from round to round
  int dots_per_round;      // valid products
  bool a_is_one_row;       // true if every a[s] is 0
};

// Splits rows [0, rows) into spans in which no link wraps. Stores each span's link offsets to
// `offsets`, then calls f(first, last). Requires distances in 0..rows-1.
template <class F>
void for_each_row_span(index_t const* distances, int links, index_t rows, index_t* offsets,
                       F const& f) {
  for (index_t first = 0, last; first < rows; first = last) {
    last = rows;
    for (int k = 0; k < links; ++k) {
      bool const wraps = first + distances[k] >= rows;
      offsets[k] = wraps ? distances[k] - rows : distances[k];
      if (!wraps) last = std::min(last, rows - distances[k]);
    }
    f(first, last);
  }
}

// Per-thread workspace. Tiles have extra rows, because the last round of products may read past the
// end.
template <class T>
struct mix_scratch {
  using A = accumulator_t<T>;
  A *input, *output;        // rows before and after a factor; they swap roles for the next one
  A *state, *state_or_sum;  // backward: states, or the sum for residual::initial
  A* staged_weights;        // converted to the accumulator's type

  mix_scratch(arena& memory, index_t length, index_t links) {
    auto const tile = static_cast<std::size_t>((length + mix_max_dots_per_round) * mix_columns);
    input = take_with_halo(memory, length);
    output = take_with_halo(memory, length);
    state = memory.take<A>(tile);
    state_or_sum = memory.take<A>(tile);
    staged_weights = memory.take<A>(static_cast<std::size_t>(
        std::is_same_v<T, A> ? 0 : length * std::min<index_t>(links, mix_max_staged_links)));
  }

 private:
  static A* take_with_halo(arena& memory, index_t length) {
    index_t const halo = length < mix_min_grouped_rows ? 0 : mix_halo_rows;
    A* const rows = memory.take<A>(
        static_cast<std::size_t>((length + mix_max_dots_per_round + 2 * halo) * mix_columns));
    return rows == nullptr ? rows : rows + halo * mix_columns;
  }
};

SLICESORT_DETAIL_END
