// SPDX-License-Identifier: Apache-2.0
// A tile of csp: up to 32 neighboring channels of one sample, and the scratch memory to move it.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// What to do with a tile: only lay its shifted channels out in scratch, or all of forward or
// backward.
enum class csp_step { gather_shifted, forward, backward };

// Rows moved at a time: the saved bits of their pairs fill one byte.
inline constexpr int csp_batch = 16;

// The rows that are sorted at a time: of several whole groups, where groups are short.
constexpr index_t csp_chunk_rows(index_t group, index_t length) {
  index_t const groups = (length + group - 1) / group;
  return group * std::clamp<index_t>(tile_rows_of_groups / group, 1, std::max<index_t>(groups, 1));
}

// From one channel of a tile to the next in scratch: `least` elements, or a little more. Channels
// are written side by side, each from a row of its own on. Where the shifts make up for the pitch,
// as linear ones do at many a power of two, those places lie multiples of 4 KB apart, and lines
// that are still being filled drive each other out of one set of the first-level cache.
inline constexpr index_t csp_pitches = 4, csp_pitch_step = 32;
constexpr index_t widest_csp_pitch(index_t least) {
  return least + (csp_pitches - 1) * csp_pitch_step;
}
// The first of these pitches at which few channels share a set, or else the one at which the fewest
// do. `row` is the first row that each channel is written to.
template <class T>
index_t spread_pitch(index_t least, index_t const* row, int width) {
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  constexpr std::size_t sets = 64;
  constexpr int few = 4;  // of the 8 ways and more that caches have
  index_t best = least;
  for (int fewest = tile_columns + 1, k = 0; k < csp_pitches && fewest > few; ++k) {
    index_t const pitch = least + k * csp_pitch_step;
    int sharing[sets] = {}, most = 0;
    for (int lane = 0; lane < width; ++lane) {
      auto const set = static_cast<std::size_t>((lane * pitch + row[lane]) / line) % sets;
      most = std::max(most, ++sharing[set]);
    }
    if (most < fewest) fewest = most, best = pitch;
  }
  return best;
}

// The scratch memory of one slot, that is, of one tile at a time.
template <class T>
struct csp_scratch {
  T* columns;             // the shifted channels, each contiguous: [32][pitch]
  index_t pitch;          // the least of those that there is room for
  T* stage;               // the rows of a chunk or a batch: [..][32]
  std::uint16_t* order;   // the permutation of a chunk: [..][32]
  unsigned char* sorter;  // scratch of the sorter of a chunk

  csp_scratch() = default;
  csp_scratch(arena& a, index_t length, index_t group, bool sorting)
      : pitch(column_pitch(length + csp_batch)) {
    columns = a.take<T>(tile_columns * static_cast<std::size_t>(widest_csp_pitch(pitch)));
    index_t const chunk =
        sorting ? std::max<index_t>(csp_chunk_rows(group, length), csp_batch) : csp_batch;
    auto const elements = tile_columns * static_cast<std::size_t>(chunk);
    stage = a.take<T>(elements);
    order = a.take<std::uint16_t>(elements);
    sorter = a.take<unsigned char>(sorting ? tile_scratch_bytes<T>(chunk) : 0);
  }
};

// A tile and what a call does with it. `from` and `to` are x and y in forward, dy and dx in
// backward.
template <class T>
struct csp_tile {
  T const* from;
  T* to;
  void* order;  // null when not saved; backward only reads it
  index_width order_width;
  tile_operand from_at, to_at, order_at;
  int width;                     // channels in use
  index_t rows;                  // valid rows of the sample
  index_t group;                 // rows of a group: 1..rows, or 1 if there are none
  bool shifted;                  // some shift is not 0
  index_t shift[tile_columns];   // 0..rows-1
  bits_t<T> flip[tile_columns];  // all ones where the channel descends
  // Destination of each sorted row in its group, if groups are aligned; null: row k goes to k.
  std::uint16_t const* destinations;
  grad_mode mode;
  bool stream;  // store around the cache
  csp_scratch<T> scratch;

  // The row that shifting the channel of `lane` moved to `row`.
  index_t source_row(index_t row, int lane) const {
    index_t const source = row - shift[lane];
    return source < 0 ? source + rows : source;
  }
  // Call it once the shifts are known.
  void spread_channels(csp_step step) {
    index_t first[tile_columns];
    for (int lane = 0; lane < width; ++lane)
      first[lane] = step == csp_step::backward ? source_row(0, lane) : shift[lane];
    scratch.pitch = spread_pitch<T>(scratch.pitch, first, width);
  }
};

// The operand that describes contiguous rows of 32 elements.
inline tile_operand staged_rows(int width) {
  tile_operand at;
  for (int lane = 0; lane < tile_columns; ++lane) at.start[lane] = lane;
  at.pitch = tile_columns;
  at.width = width;
  at.adjacent = at.dense = true;
  return at;
}

SLICESORT_DETAIL_END
