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

// Work on a tile: gather its shifted channels in scratch memory, or all of forward or backward.
enum class csp_operation { gather_shifted, forward, backward };

// Rows that a kernel processes at a time: eight pairs, whose saved bits fill a byte.
inline constexpr int csp_rows_per_batch = 16;

// Returns the number of rows per sort: several whole groups if groups are short.
constexpr index_t csp_chunk_rows(index_t group, index_t length) {
  index_t const groups = (length + group - 1) / group;
  return group * std::clamp<index_t>(group_tile_rows / group, 1, std::max<index_t>(groups, 1));
}

// Candidates for the distance between neighboring channels in scratch memory: `min_pitch` elements,
// or slightly more. All channels are written at the same time, each starting at a different row. If
// the shifts cancel the pitch, as linear shifts do at many powers of two, the write positions are
// multiples of 4 KB apart, and their lines evict each other from one set of the L1 cache while they
// are being filled.
inline constexpr index_t csp_pitch_candidates = 4, csp_pitch_increment = 32;
constexpr index_t max_csp_pitch(index_t min_pitch) {
  return min_pitch + (csp_pitch_candidates - 1) * csp_pitch_increment;
}
// Returns the first pitch for which few channels map to one cache set or, if there is none, the one
// with the fewest. `first_row` is the row at which the writes of each channel start.
template <class T>
index_t best_pitch(index_t min_pitch, index_t const* first_row, int width) {
  constexpr index_t elements_per_line = 64 / static_cast<index_t>(sizeof(T));
  constexpr std::size_t cache_sets = 64;
  constexpr int acceptable_channels = 4;  // per set; caches have at least 8 ways
  index_t best = min_pitch;
  for (int fewest_channels = tile_columns + 1, k = 0;
       k < csp_pitch_candidates && fewest_channels > acceptable_channels; ++k) {
    index_t const pitch = min_pitch + k * csp_pitch_increment;
    int channels_per_set[cache_sets] = {}, max_channels = 0;
    for (int lane = 0; lane < width; ++lane) {
      auto const set =
          static_cast<std::size_t>((lane * pitch + first_row[lane]) / elements_per_line) %
          cache_sets;
      max_channels = std::max(max_channels, ++channels_per_set[set]);
    }
    if (max_channels < fewest_channels) fewest_channels = max_channels, best = pitch;
  }
  return best;
}

template <class T>
struct csp_scratch {
  T* columns;            // shifted channels, each contiguous: [32][pitch]
  index_t pitch;         // distance between neighboring channels
  T* stage;              // rows of a chunk or a batch: [rows][32]
  std::uint16_t* order;  // permutation of a chunk: [rows][32]
  unsigned char* sorter_scratch;

  csp_scratch() = default;
  csp_scratch(arena& memory, index_t length, index_t group, bool sorts_groups)
      : pitch(column_pitch(length + csp_rows_per_batch)) {
    columns = memory.take<T>(tile_columns * static_cast<std::size_t>(max_csp_pitch(pitch)));
    index_t const chunk_rows =
        sorts_groups ? std::max<index_t>(csp_chunk_rows(group, length), csp_rows_per_batch)
                     : csp_rows_per_batch;
    auto const elements = tile_columns * static_cast<std::size_t>(chunk_rows);
    stage = memory.take<T>(elements);
    order = memory.take<std::uint16_t>(elements);
    sorter_scratch =
        memory.take<unsigned char>(sorts_groups ? tile_scratch_bytes<T>(chunk_rows) : 0);
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
  int width;                                // channels in use
  index_t rows;                             // valid rows of the sample
  index_t group;                            // rows per group: 1..max(rows, 1)
  bool shifted;                             // true if some shift is not 0
  index_t shift[tile_columns];              // 0..rows-1
  bits_t<T> descending_mask[tile_columns];  // all ones where the channel descends
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
  void choose_pitch(csp_operation operation) {
    index_t first_row[tile_columns];
    for (int lane = 0; lane < width; ++lane)
      first_row[lane] = operation == csp_operation::backward ? source_row(0, lane) : shift[lane];
    scratch.pitch = best_pitch<T>(scratch.pitch, first_row, width);
  }
};

// Layout of a tile in `csp_scratch::stage`.
inline tile_operand stage_layout(int width) {
  tile_operand layout;
  for (int lane = 0; lane < tile_columns; ++lane) layout.start[lane] = lane;
  layout.pitch = tile_columns;
  layout.width = width;
  layout.adjacent = layout.dense = true;
  return layout;
}

SLICESORT_DETAIL_END
