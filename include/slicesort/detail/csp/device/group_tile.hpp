// SPDX-License-Identifier: Apache-2.0
// Tile of columns in which each thread sorts whole groups. Channels with different shifts read
// different rows at a time, which would load eight times as many bytes as needed. Rows are
// therefore staged in shared memory: a window of the rows that a block needs if neighboring
// channels have similar shifts, else whole columns. Groups are read directly from the tensor if no
// channel is shifted or a column is too long.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// A unit is the set of rows that a thread sorts at a time: a group, or eight pairs. A free row
// after every 2^IntervalLog2 rows of a tile avoids bank conflicts between threads with neighboring
// units.
template <class T, int IntervalLog2>
struct group_tile {
  static constexpr int elements_in_flight = 8;  // per thread
  static constexpr std::uint32_t free_row_interval = 1u << IntervalLog2;

  int width;      // columns: a power of two that divides the block size
  bool staged;    // true if rows are staged in shared memory
  bool windowed;  // true if a window is staged instead of whole columns
  bool rows_adjacent;
  std::uint32_t units, rows_per_unit;  // units per column, rows per unit
  std::uint32_t units_per_block;       // all units if whole columns are staged
  index_t blocks_per_tile;
  index_division divide_by_blocks, divide_by_channels;  // blocks per tile, channels per sample
  shift_spread spread;  // valid if windowed; has the width of the tile

  // Returns the number of tile rows for `rows` rows, with the free rows.
  SLICESORT_HD static constexpr index_t padded_rows(index_t rows) {
    return rows + (rows >> IntervalLog2);
  }
  // True if every unit of a window starts right after a free row, so it contains none.
  SLICESORT_HD bool has_aligned_units() const {
    return windowed && rows_per_unit == free_row_interval;
  }
  SLICESORT_HD index_t staged_rows(extents3 extents) const {
    if (!windowed) return extents.length;
    return static_cast<index_t>(units_per_block * rows_per_unit) + spread.above + spread.below +
           (has_aligned_units() ? free_row_interval - 1 : 0);
  }

  template <class SharedAllocator>
  SLICESORT_HD T* allocate_tile(SharedAllocator& shared_memory, extents3 extents) const {
    if (!staged) return nullptr;
    return shared_memory.template allocate<T>(
        static_cast<std::size_t>(padded_rows(staged_rows(extents))) *
        static_cast<std::size_t>(width));
  }

  struct thread_work {
    tensor3<T const> const& x;
    bool has_column = false;
    column_index index{};
    csp_column column{};
    std::uint32_t first_unit = 0, end_unit = 0, unit_step = 0;
    bool staged = false, windowed = false, has_aligned_units = false;
    // If windowed, row n after the shift is row n + window_offset of the tile.
    std::uint32_t window_offset = 0;
    T const* tile = nullptr;  // the thread's column of the tile
    int width = 0;

    // True if `count` rows from `row` on are valid and their source rows are consecutive.
    SLICESORT_HD_INLINE bool is_contiguous(std::uint32_t row, std::uint32_t count) const {
      return row + count <= column.valid &&
             (windowed || column.source(row) + count <= column.valid);
    }
    // Sets value[k] to the bits of row `row` + k after the shift, for rows below `end`.
    template <class Bits, std::size_t Count>
    SLICESORT_HD_INLINE void read(std::uint32_t row, std::uint32_t end,
                                  Bits (&value)[Count]) const {
      if (is_contiguous(row, Count))
        read_contiguous(row, static_cast<int>(end - row), value);
      else
        read_scattered(row, end, value);
    }
    template <class Bits, std::size_t Count>
    SLICESORT_HD_INLINE void read_scattered(std::uint32_t row, std::uint32_t end,
                                            Bits (&value)[Count]) const {
      SLICESORT_UNROLL
      for (std::uint32_t k = 0; k < Count; ++k)
        value[k] = row + k < end ? bit_cast<Bits>((*this)[row + k]) : Bits{0};
    }
    // Sets value[k] to the bits of row `row` + k for k < count; requires contiguous rows.
    template <class Bits, std::size_t Count>
    SLICESORT_HD_INLINE void read_contiguous(std::uint32_t row, int count,
                                             Bits (&value)[Count]) const {
      static_assert(Count <= free_row_interval, "they cross one free row at most");
      std::uint32_t const source_row = windowed ? row + window_offset : column.source(row);
      if (has_aligned_units) {
        T const* const source = tile + static_cast<int>(padded_row_of(source_row)) * width;
        SLICESORT_UNROLL
        for (int k = 0; k < static_cast<int>(Count); ++k)
          value[k] = k < count ? bit_cast<Bits>(source[k * width]) : Bits{0};
      } else if (staged) {
        int const before_free =
            static_cast<int>(free_row_interval - source_row % free_row_interval);
        T const* source = tile + static_cast<int>(padded_row_of(source_row)) * width;
        SLICESORT_UNROLL
        for (int k = 0; k < static_cast<int>(Count); ++k) {
          if (k == before_free) source += width;
          value[k] = k < count ? bit_cast<Bits>(*source) : Bits{0};
          source += width;
        }
      } else {
        column_of<T const> const values(x, index);
        T const* source = values.data + static_cast<index_t>(source_row) * values.stride;
        SLICESORT_UNROLL
        for (int k = 0; k < static_cast<int>(Count); ++k) {
          value[k] = k < count ? bit_cast<Bits>(*source) : Bits{0};
          source += values.stride;
        }
      }
    }
    SLICESORT_HD_INLINE T operator[](std::uint32_t row) const {
      return staged && !(windowed && row >= column.valid) ? read_tile(row) : read_tensor(row);
    }

   private:
    SLICESORT_HD_INLINE T read_tile(std::uint32_t row) const {
      std::uint32_t const source_row = windowed ? row + window_offset : column.source(row);
      return tile[static_cast<int>(padded_row_of(source_row)) * width];
    }
    SLICESORT_HD_INLINE T read_tensor(std::uint32_t row) const {
      return column_of<T const>(x, index)[static_cast<index_t>(column.source(row))];
    }
  };
  // Returns the tile row that holds row `row`.
  SLICESORT_HD_INLINE static std::uint32_t padded_row_of(std::uint32_t row) {
    return row + (row >> IntervalLog2);
  }

  // Assigns units to the thread and stages the tile in shared memory. Contains a barrier if staged.
  template <class Block>
  SLICESORT_HD_INLINE thread_work begin_work(Block& block, csp_groups const& groups,
                                             tensor3<T const> const& x) const {
    extents3 const extents = groups.extents;
    T* const tile = allocate_tile(block, extents);
    thread_mapping const walk(block.rank(), block.size(), width, rows_adjacent);
    index_t const tile_index = divide_by_blocks(block.index());
    auto const block_in_tile =
        static_cast<std::uint32_t>(block.index() - tile_index * blocks_per_tile);
    index_t const column_number = tile_index * width + walk.column;
    bool const has_column = column_number < extents.batch * extents.channels;
    index_t const sample = has_column ? divide_by_channels(column_number) : 0;
    column_index const index{sample, has_column ? column_number - sample * extents.channels : 0};
    std::uint32_t const first_unit = block_in_tile * units_per_block;
    std::uint32_t const remaining = units - first_unit;
    thread_work work{x};
    work.has_column = has_column;
    work.index = index;
    work.column = groups.column(index);
    work.first_unit = first_unit + static_cast<std::uint32_t>(walk.first_row);
    work.end_unit = first_unit + (remaining < units_per_block ? remaining : units_per_block);
    work.unit_step = static_cast<std::uint32_t>(walk.step);
    work.staged = staged;
    work.windowed = windowed;
    work.tile = tile + walk.column;
    work.width = width;
    std::uint32_t const row = first_unit * rows_per_unit;
    // The window contains the whole column unless `windowed`.
    csp_window window{static_cast<std::uint32_t>(extents.length), 0, 0};
    std::uint32_t end = staged ? window.valid : 0u, offset = 0;
    if (windowed) {
      window = csp_window::make(groups, index, work.column, spread, row);
      if (has_aligned_units()) offset = (0u - row - window.row_offset) % free_row_interval;
      work.window_offset = window.row_offset + offset;
      work.has_aligned_units = has_aligned_units();
      std::uint32_t const block_rows = units_per_block * rows_per_unit,
                          valid_rows = window.valid - row;
      end = row < window.valid
                ? (valid_rows < block_rows ? valid_rows : block_rows) + spread.above + spread.below
                : 0u;
    }
    if (has_column)
      load(column_of<T const>(x, index), window, walk.rows(static_cast<int>(end)),
           tile + walk.column, width, static_cast<int>(offset));
    if (staged) block.sync();
    return work;
  }

 private:
  // Loads rows of the window into the tile, starting at tile row `offset`. Wraps around at the end
  // of the column.
  SLICESORT_HD_INLINE static void load(column_of<T const> x, csp_window window, row_range rows,
                                       T* tile, int width, int offset) {
    bool const constant_step = static_cast<std::uint32_t>(rows.step) % free_row_interval == 0;
    SLICESORT_NO_UNROLL
    while (rows.first < rows.end) {
      auto const source_row =
          static_cast<int>(window.source(static_cast<std::uint32_t>(rows.first)));
      int const before_end = rows.first + static_cast<int>(window.valid) - source_row;
      row_range const contiguous_rows{rows.first, rows.step,
                                      rows.end < before_end ? rows.end : before_end};
      auto source = x.walk(source_row - rows.first, contiguous_rows);
      auto const next = [&](int) { return source.next(); };
      if (constant_step) {  // constant pitch in the tile
        row_iterator<T> target{tile + padded_rows(rows.first + offset) * width,
                               padded_rows(rows.step) * width};
        copy_rows<elements_in_flight>(contiguous_rows, next,
                                      [&](int, T value) { target.next() = value; });
      } else {
        copy_rows<elements_in_flight>(contiguous_rows, next, [&](int row, T value) {
          tile[padded_rows(row + offset) * width] = value;
        });
      }
      rows.first += (contiguous_rows.end - rows.first + rows.step - 1) & -rows.step;
    }
  }
};

SLICESORT_DETAIL_END
