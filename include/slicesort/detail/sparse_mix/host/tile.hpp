// SPDX-License-Identifier: Apache-2.0
// A tile of sparse_mix: rows of up to 32 channels of one sample, in the accumulator's type, which
// goes through all factors while it lies in cache; and its parts as the arguments of the kernels.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline constexpr int mix_columns = channel_block;  // the pitch of a tile
inline constexpr int mix_dots_at_once = 16;        // most products of a round
inline constexpr int mix_links = 64;               // most links of a pass
inline constexpr int mix_staged_links = 16;  // most links of a pass if weights must be converted

// Rows [first, last) of a factor, or of a part of its links, in which no link wraps around from the
// sample's end to its beginning: from row i, link k is `row[k]` elements of the tile away, and its
// weight is `weights[i * weight_pitch + weight[k]]`.
template <class T>
struct row_span {
  using A = accumulator_t<T>;

  A const* start;  // what the sums begin with: rows of a tile; null: 0
  A const* from;
  A* to;      // rows of a tile; null: `stream` alone is written
  T* stream;  // rows of a tensor that are stored too, around the cache; may be null
  index_t stream_pitch;
  A const* weights;
  index_t weight_pitch;
  index_t first, last;
  int width, links;
  bool round;  // whether sums are rounded to the element type
  index_t row[mix_links], weight[mix_links];
};

// Pairs of rows of two tiles that are multiplied in a round: row a[s] of the one with row b[s] of
// the other, counted in elements.
struct mix_pairs {
  index_t a[mix_dots_at_once], b[mix_dots_at_once];
  index_t step;  // rows from round to round
  int used;      // products of a round that are asked for: the first ones
  bool one_row;  // all a[s] are 0
};

// Calls f(first, last) for the spans of rows [0, rows) in which no link wraps around, with the
// distances of the links in `step`; `ahead` are their offsets, in 0..rows-1.
template <class F>
void for_each_row_span(index_t const* ahead, int links, index_t rows, index_t* step, F const& f) {
  for (index_t first = 0, last; first < rows; first = last) {
    last = rows;
    for (int k = 0; k < links; ++k) {
      bool const wrapped_rows = first + ahead[k] >= rows;
      step[k] = wrapped_rows ? ahead[k] - rows : ahead[k];
      if (!wrapped_rows) last = std::min(last, rows - ahead[k]);
    }
    f(first, last);
  }
}

// The workspace of a slot. A tile has a few extra rows, because products are formed in rounds, and
// the last round may reach past the rows.
template <class T>
struct mix_scratch {
  using A = accumulator_t<T>;
  A *first, *second;  // a factor's input and output
  A *third, *fourth;  // in backward: a state, and a state or a sum that is kept
  A* staged;          // weights, if they must be converted

  mix_scratch(arena& a, index_t length, index_t links) {
    auto const tile = static_cast<std::size_t>((length + mix_dots_at_once) * mix_columns);
    first = a.take<A>(tile);
    second = a.take<A>(tile);
    third = a.take<A>(tile);
    fourth = a.take<A>(tile);
    staged = a.take<A>(static_cast<std::size_t>(
        std::is_same_v<T, A> ? 0 : length * std::min<index_t>(links, mix_staged_links)));
  }
};

SLICESORT_DETAIL_END
