// SPDX-License-Identifier: Apache-2.0
// Tile of csp: up to 32 neighboring channels of one sample, and its scratch memory.
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

// Step of a tile: gather its shifted channels in scratch, or run all of forward or backward.
enum class csp_step { gather_shifted, forward, backward };

inline constexpr int csp_batch = 16;

// Returns the number of rows that are sorted at a time: several whole groups if groups are short.
constexpr index_t csp_chunk_rows(index_t group, index_t length) {
  index_t const groups = (length + group - 1) / group;
  return group * std::clamp<index_t>(group_tile_rows / group, 1, std::max<index_t>(groups, 1));
}

// Candidates for the distance of two channels in scratch: `min_pitch` elements, or slightly more.
// All channels are written at the same time, each starting at a different row. If the shifts cancel
// the pitch, as linear shifts do at many powers of two, the write positions are multiples of 4 KB
// apart, and their lines evict each other from one set of the L1 cache while they are being filled.
inline constexpr index_t csp_pitches = 4, csp_pitch_step = 32;
constexpr index_t max_csp_pitch(index_t min_pitch) {
  return min_pitch + (csp_pitches - 1) * csp_pitch_step;
}
// Returns the first pitch for which few channels share a cache set or, if there is none, the one
// with the least sharing. `row` is the first row to which each channel is written.
template <class T>
index_t best_pitch(index_t min_pitch, index_t const* row, int width) {
  constexpr index_t line = 64 / static_cast<index_t>(sizeof(T));
  constexpr std::size_t sets = 64;
  constexpr int acceptable_sharing = 4;  // caches have at least 8 ways
  index_t best = min_pitch;
  for (int best_sharing = tile_columns + 1, k = 0;
       k < csp_pitches && best_sharing > acceptable_sharing; ++k) {
    index_t const pitch = min_pitch + k * csp_pitch_step;
    int sharing[sets] = {}, max_sharing = 0;
    for (int lane = 0; lane < width; ++lane) {
      auto const set = static_cast<std::size_t>((lane * pitch + row[lane]) / line) % sets;
      max_sharing = std::max(max_sharing, ++sharing[set]);
    }
    if (max_sharing < best_sharing) best_sharing = max_sharing, best = pitch;
  }
  return best;
}

template <class T>
struct csp_scratch {
  T* columns;             // shifted channels, each contiguous: [32][pitch]
  index_t pitch;          // distance of two channels
  T* stage;               // rows of a chunk or a batch: [rows][32]
  std::uint16_t* order;   // permutation of a chunk: [rows][32]
  unsigned char* sorter;  // scratch of the tile sorter

  csp_scratch() = default;
  csp_scratch(arena& memory, index_t length, index_t group, bool sorting)
      : pitch(column_pitch(length + csp_batch)) {
    columns = memory.take<T>(tile_columns * static_cast<std::size_t>(max_csp_pitch(pitch)));
    index_t const chunk =
        sorting ? std::max<index_t>(csp_chunk_rows(group, length), csp_batch) : csp_batch;
    auto const elements = tile_columns * static_cast<std::size_t>(chunk);
    stage = memory.take<T>(elements);
    order = memory.take<std::uint16_t>(elements);
    sorter = memory.take<unsigned char>(sorting ? tile_scratch_bytes<T>(chunk) : 0);
  }
};

// Tile of a call. `from` and `to` are x and y in forward, dy and dx in backward.
template <class T>
struct csp_tile {
  T const* from;
  T* to;
  void* order;  // null if not saved; read-only in backward
  index_width order_width;
  tile_operand from_layout, to_layout, order_layout;
  int width;                     // channels in use
  index_t rows;                  // valid rows of the sample
  index_t group;                 // rows of a group: 1..max(rows, 1)
  bool shifted;                  // true if some shift is not 0
  index_t shift[tile_columns];   // 0..rows-1
  bits_t<T> flip[tile_columns];  // all ones where the channel descends
  // Destination of each sorted row in its aligned group; null: row k goes to row k.
  std::uint16_t const* destinations;
  grad_mode mode;
  bool stream;  // true for streaming stores
  csp_scratch<T> scratch;

  // Returns the source of row `row` of a shifted channel.
  index_t source_row(index_t row, int lane) const {
    index_t const source = row - shift[lane];
    return source < 0 ? source + rows : source;
  }
  void choose_pitch(csp_step step) {
    index_t first[tile_columns];
    for (int lane = 0; lane < width; ++lane)
      first[lane] = step == csp_step::backward ? source_row(0, lane) : shift[lane];
    scratch.pitch = best_pitch<T>(scratch.pitch, first, width);
  }
};

inline tile_operand staged_rows(int width) {
  tile_operand layout;
  for (int lane = 0; lane < tile_columns; ++lane) layout.start[lane] = lane;
  layout.pitch = tile_columns;
  layout.width = width;
  layout.adjacent = layout.dense = true;
  return layout;
}

SLICESORT_DETAIL_END
