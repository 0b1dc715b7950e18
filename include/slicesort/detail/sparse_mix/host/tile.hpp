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
inline constexpr int mix_dots_at_once = 16;        // maximum number of products per round
inline constexpr int mix_links = 64;               // maximum number of links per pass
inline constexpr int mix_staged_links = 16;        // maximum if weights are converted

// Span of rows [first, last) of a factor in which no link wraps around the end of the sample. Link
// k of row i is at distance `row[k]` in the tile. Its weight is `weights[i * weight_pitch +
// weight[k]]`.
template <class T>
struct row_span {
  using A = accumulator_t<T>;

  A const* start;  // initial sums; null means 0
  A const* from;
  A* to;      // rows of a tile, or null
  T* stream;  // rows of a tensor for streaming stores, or null
  index_t stream_pitch;
  A const* weights;
  index_t weight_pitch;
  index_t first, last;
  int width, links;
  bool round;  // true to round the sums to the element type
  index_t row[mix_links], weight[mix_links];
};

// Pairs of rows that a round multiplies, as offsets a[s] and b[s] in two tiles.
struct mix_pairs {
  index_t a[mix_dots_at_once], b[mix_dots_at_once];
  index_t step;   // rows from round to round
  int used;       // number of valid products of a round
  bool same_row;  // true if every a[s] is 0
};

// Splits rows [0, rows) into spans in which no link wraps. Stores each span's link offsets to
// `offsets`, then calls f(first, last). Requires distances in 0..rows-1.
template <class F>
void for_each_row_span(index_t const* distances, int links, index_t rows, index_t* offsets,
                       F const& f) {
  for (index_t first = 0, last; first < rows; first = last) {
    last = rows;
    for (int k = 0; k < links; ++k) {
      bool const wrapped_rows = first + distances[k] >= rows;
      offsets[k] = wrapped_rows ? distances[k] - rows : distances[k];
      if (!wrapped_rows) last = std::min(last, rows - distances[k]);
    }
    f(first, last);
  }
}

// Per-thread workspace. Tiles have extra rows, because the last round of products may read past the
// end.
template <class T>
struct mix_scratch {
  using A = accumulator_t<T>;
  A *first, *second;  // a factor's input and output
  A *third, *fourth;  // backward: states, or the sum for residual::initial
  A* staged;          // converted weights

  mix_scratch(arena& memory, index_t length, index_t links) {
    auto const tile = static_cast<std::size_t>((length + mix_dots_at_once) * mix_columns);
    first = memory.take<A>(tile);
    second = memory.take<A>(tile);
    third = memory.take<A>(tile);
    fourth = memory.take<A>(tile);
    staged = memory.take<A>(static_cast<std::size_t>(
        std::is_same_v<T, A> ? 0 : length * std::min<index_t>(links, mix_staged_links)));
  }
};

SLICESORT_DETAIL_END
