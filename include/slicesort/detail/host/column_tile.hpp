// SPDX-License-Identifier: Apache-2.0
// Tiles: up to 32 neighboring columns of a [batch, length, channels] tensor that are worked on
// together, one column per SIMD lane. Columns are numbered batch * channels + channel; a tile may
// span samples.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

SLICESORT_DETAIL_BEGIN

// A row of 32 columns is two cache lines of 32-bit elements, or one of 16-bit elements. Chunks of
// columns (column_chunk.hpp) are as wide.
inline constexpr int tile_columns = 32;

// Columns [first, first + width), walked without a division per column.
struct column_range {
  extents3 extents;
  index_t first;
  int width;

  bool within_one_sample() const {
    return first / extents.channels == (first + width - 1) / extents.channels;
  }
  // Calls f(lane, batch, channel) for every column.
  template <class F>
  void for_each(F const& f) const {
    index_t batch = first / extents.channels, channel = first % extents.channels;
    for (int lane = 0; lane < width; ++lane) {
      f(lane, batch, channel);
      if (++channel == extents.channels) {
        channel = 0;
        ++batch;
      }
    }
  }
};

// How many leading rows of each column take part.
struct tile_rows {
  index_t valid[tile_columns];
  index_t longest = 0;
  bool uniform = true;

  tile_rows(column_range const& columns, tensor1<index_t const> lengths) {
    columns.for_each([&](int lane, index_t batch, index_t) {
      valid[lane] = valid_rows(lengths, batch, columns.extents.length);
      if (valid[lane] > longest) longest = valid[lane];
      uniform &= valid[lane] == valid[0];
    });
  }
};

// How many tiles of `width` columns all samples have, and the columns of one of them.
inline index_t tiles_of(extents3 e, int width) {
  return (e.batch * e.channels + width - 1) / width;
}
inline column_range columns_of_tile(extents3 e, index_t tile, int width) {
  index_t const first = tile * width, left = e.batch * e.channels - first;
  return {e, first, left < width ? static_cast<int>(left) : width};
}

// The most neighboring tiles that a task takes: two, whose rows are then written together, if
// threads have tasks enough all the same.
inline int tiles_of_task(extents3 e, unsigned threads) {
  return tiles_of(e, 2 * tile_columns) >= index_t{4} * static_cast<index_t>(threads) ? 2 : 1;
}
// Tiles of task number `task`: `tiles`, or the last one.
inline int tiles_in_task(extents3 e, index_t task, int tiles) {
  index_t const left = tiles_of(e, tile_columns) - task * tiles;
  return left < tiles ? static_cast<int>(left) : tiles;
}

// One operand of a tile: where each column starts, and the step from row to row.
struct tile_operand {
  index_t start[tile_columns];
  index_t pitch;
  int width;
  bool adjacent;  // the columns lie side by side
  bool dense;     // adjacent, and there are 32: rows can be moved as vectors

  tile_operand() = default;
  tile_operand(column_range const& columns, strides3 s)
      : pitch(columns.extents.length > 1 ? s.length : 0),
        width(columns.width),
        adjacent(s.channels == 1 && columns.within_one_sample()),
        dense(adjacent && columns.width == tile_columns) {
    columns.for_each([&](int lane, index_t batch, index_t channel) {
      start[lane] = batch * s.batch + channel * s.channels;
    });
  }
  // Whether rows are whole 64-byte lines, so that they can be stored around the cache.
  bool on_lines(void const* data, index_t element_bytes) const {
    auto const address = reinterpret_cast<std::uintptr_t>(data) +
                         static_cast<std::uintptr_t>(start[0] * element_bytes);
    return adjacent && address % 64 == 0 && pitch * element_bytes % 64 == 0 &&
           width * element_bytes % 64 == 0;
  }
};

// Whether an output is too large for the nearer caches anyway, so that it is stored around them.
template <class T, class Extents>
constexpr bool worth_streaming(Extents e) {
  return e.size() * static_cast<index_t>(sizeof(T)) >= index_t{1} << 20;
}

// Prefetches the dense row that is `Distance` rows after this one: rows are far apart, and the
// processor's own prefetchers stop at the end of a page. Locality 3 is the nearest cache, 2 the
// next. The address may be past the tensor, so it is computed as an integer.
inline constexpr unsigned prefetch_distance = 16;
template <unsigned Distance = prefetch_distance, int Locality = 3, class T>
void prefetch_after(T const* row, index_t pitch) {
#if SLICESORT_GNU_VECTORS
  auto const ahead = reinterpret_cast<std::uintptr_t>(row) +
                     std::uintptr_t{Distance} * static_cast<std::uintptr_t>(pitch) * sizeof(T);
  for (std::uintptr_t byte = 0; byte < tile_columns * sizeof(T); byte += 64)
    __builtin_prefetch(reinterpret_cast<void const*>(ahead + byte), 0, Locality);
#else
  (void)row, (void)pitch;
#endif
}

// Copies `count` elements. The sizes of a tile's row and of a cache line are constants to the
// compiler, which turns them into vector moves.
template <std::size_t Element>
void copy_elements(void* to, void const* from, index_t count) {
  constexpr std::size_t row = Element * tile_columns;
  std::size_t const bytes = Element * static_cast<std::size_t>(count);
  if (bytes == row)
    std::memcpy(to, from, row);
  else if (row > 64 && bytes == 64)
    std::memcpy(to, from, row > 64 ? 64 : row);
  else
    std::memcpy(to, from, bytes);
}

// Copies `count` rows, from row `i` on, of an operand of any strides to a stage whose rows are
// `pitch` elements apart. Columns that are not adjacent are copied one by one, since each may
// itself be contiguous.
template <class T, class Stage>
void gather_rows(T const* from, tile_operand const& at, int first, int width, index_t i, int count,
                 Stage* stage, int pitch) {
  static_assert(sizeof(T) == sizeof(Stage), "bits move as they are");
  if (at.adjacent) {
    T const* p = from + at.start[first] + i * at.pitch;
    for (int k = 0; k < count; ++k, p += at.pitch)
      copy_elements<sizeof(T)>(stage + k * pitch, p, width);
    return;
  }
  for (int lane = 0; lane < width; ++lane) {
    T const* p = from + at.start[first + lane] + i * at.pitch;
    for (int k = 0; k < count; ++k, p += at.pitch)
      std::memcpy(stage + k * pitch + lane, p, sizeof(T));
  }
}
// Copies `count` rows of a stage to rows i .. of an operand: the reverse of gather_rows.
template <class Stage, class T>
void scatter_rows(Stage const* stage, int pitch, int width, index_t i, int count,
                  tile_operand const& at, T* to) {
  static_assert(sizeof(T) == sizeof(Stage), "bits move as they are");
  if (at.adjacent) {
    T* p = to + at.start[0] + i * at.pitch;
    for (int k = 0; k < count; ++k, p += at.pitch)
      copy_elements<sizeof(T)>(p, stage + k * pitch, width);
    return;
  }
  for (int lane = 0; lane < width; ++lane) {
    T* p = to + at.start[lane] + i * at.pitch;
    for (int k = 0; k < count; ++k, p += at.pitch)
      std::memcpy(static_cast<void*>(p), stage + k * pitch + lane, sizeof(T));
  }
}

SLICESORT_DETAIL_END
