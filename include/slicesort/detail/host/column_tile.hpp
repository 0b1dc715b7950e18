// SPDX-License-Identifier: Apache-2.0
// Tiles: up to 32 neighboring columns of a [batch, length, channels] tensor, one per SIMD lane. The
// flat index of a column is batch * channels + channel. A tile may span samples.
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

// Columns per tile: two cache lines of 32-bit elements, or one line of 16-bit elements. Also the
// default width of column chunks (column_chunk.hpp).
inline constexpr int tile_columns = 32;

// Columns [first, first + width), iterated without a division per column.
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

// Number of valid rows of each column.
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

// Returns the number of tiles of a tensor.
inline index_t count_tiles(extents3 e, int width) {
  return (e.batch * e.channels + width - 1) / width;
}
// Returns the columns of a tile.
inline column_range columns_per_tile(extents3 e, index_t tile, int width) {
  index_t const first = tile * width, remaining = e.batch * e.channels - first;
  return {e, first, remaining < width ? static_cast<int>(remaining) : width};
}

// Number of neighboring tiles per task: 2 if there are enough tasks for all threads, else 1. The
// rows of two tiles are written together.
inline int tiles_per_task(extents3 e, unsigned threads) {
  return count_tiles(e, 2 * tile_columns) >= index_t{4} * static_cast<index_t>(threads) ? 2 : 1;
}
// Number of tiles of this task: `tiles`, or fewer for the last task.
inline int tiles_in_task(extents3 e, index_t task, int tiles) {
  index_t const remaining = count_tiles(e, tile_columns) - task * tiles;
  return remaining < tiles ? static_cast<int>(remaining) : tiles;
}

// Memory layout of a tile in a tensor: the offset of each column, and the pitch of rows.
struct tile_operand {
  index_t start[tile_columns];
  index_t pitch;
  int width;
  bool adjacent;  // true if columns are contiguous in memory
  bool dense;     // true if adjacent and full: rows can be copied as vectors

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
  // True if rows consist of whole cache lines, which streaming stores require.
  bool has_whole_cache_lines(void const* data, index_t element_bytes) const {
    auto const address = reinterpret_cast<std::uintptr_t>(data) +
                         static_cast<std::uintptr_t>(start[0] * element_bytes);
    return adjacent && address % 64 == 0 && pitch * element_bytes % 64 == 0 &&
           width * element_bytes % 64 == 0;
  }
};

// True for outputs that exceed the inner caches and should use streaming stores.
template <class T, class Extents>
constexpr bool should_stream(Extents e) {
  return e.size() * static_cast<index_t>(sizeof(T)) >= index_t{1} << 20;
}
// True if rows of `width` elements, starting at `row`, should use streaming stores: the tensor is
// large, and the rows are whole cache lines.
template <class Tensor, class T>
bool should_stream_rows(Tensor const& tensor, T const* row, index_t width) {
  constexpr index_t line = 64, size = sizeof(T);
  return should_stream<T>(tensor.extents()) && tensor.strides().channels == 1 &&
         reinterpret_cast<std::uintptr_t>(row) % line == 0 &&
         tensor.strides().length * size % line == 0 && width * size % line == 0;
}

// Prefetches the dense row `Distance` rows ahead, because hardware prefetchers stop at the end of a
// page. Locality 3 is the L1 cache, 2 is the L2 cache. Computes the address as an integer, because
// it may lie outside the tensor.
inline constexpr unsigned prefetch_distance = 16;
template <unsigned Distance = prefetch_distance, int Locality = 3, int Columns = tile_columns,
          class T>
void prefetch_after(T const* row, index_t pitch) {
#if SLICESORT_GNU_VECTORS
  auto const address = reinterpret_cast<std::uintptr_t>(row) +
                       std::uintptr_t{Distance} * static_cast<std::uintptr_t>(pitch) * sizeof(T);
  for (std::uintptr_t byte = 0; byte < Columns * sizeof(T); byte += 64)
    __builtin_prefetch(reinterpret_cast<void const*>(address + byte), 0, Locality);
#else
  (void)row, (void)pitch;
#endif
}

// Copies `count` elements. Copies of a full row or a full cache line have a constant size, so they
// compile to vector moves.
template <std::size_t Element>
void copy_elements(void* to, void const* from, index_t count) {
  constexpr std::size_t row_bytes = Element * tile_columns;
  std::size_t const bytes = Element * static_cast<std::size_t>(count);
  if (bytes == row_bytes)
    std::memcpy(to, from, row_bytes);
  else if (row_bytes > 64 && bytes == 64)
    std::memcpy(to, from, row_bytes > 64 ? 64 : row_bytes);
  else
    std::memcpy(to, from, bytes);
}

// Copies `count` rows, starting at row `i`, to a staging buffer with `pitch` elements per row.
// Copies columns one by one if they are not adjacent, because each column may be contiguous.
template <class T, class Stage>
void gather_rows(T const* from, tile_operand const& operand, int first, int width, index_t i,
                 int count, Stage* stage, int pitch) {
  static_assert(sizeof(T) == sizeof(Stage), "bits move as they are");
  if (operand.adjacent) {
    T const* p = from + operand.start[first] + i * operand.pitch;
    for (int k = 0; k < count; ++k, p += operand.pitch)
      copy_elements<sizeof(T)>(stage + k * pitch, p, width);
    return;
  }
  for (int lane = 0; lane < width; ++lane) {
    T const* p = from + operand.start[first + lane] + i * operand.pitch;
    for (int k = 0; k < count; ++k, p += operand.pitch)
      std::memcpy(stage + k * pitch + lane, p, sizeof(T));
  }
}
// Copies `count` rows of a staging buffer to the tensor, starting at row `i`. Inverse of
// gather_rows.
template <class Stage, class T>
void scatter_rows(Stage const* stage, int pitch, int width, index_t i, int count,
                  tile_operand const& operand, T* to) {
  static_assert(sizeof(T) == sizeof(Stage), "bits move as they are");
  if (operand.adjacent) {
    T* p = to + operand.start[0] + i * operand.pitch;
    for (int k = 0; k < count; ++k, p += operand.pitch)
      copy_elements<sizeof(T)>(p, stage + k * pitch, width);
    return;
  }
  for (int lane = 0; lane < width; ++lane) {
    T* p = to + operand.start[lane] + i * operand.pitch;
    for (int k = 0; k < count; ++k, p += operand.pitch)
      std::memcpy(static_cast<void*>(p), stage + k * pitch + lane, sizeof(T));
  }
}

SLICESORT_DETAIL_END
