// SPDX-License-Identifier: Apache-2.0
// Columns whose rows a thread visits along their permutation: n, p[n], p[p[n]], ... Columns are
// staged in shared memory if they fit.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Column as one thread sees it. InShared requires at most 65536 rows.
template <class T, bool InShared>
struct chained_column;

template <class T>
struct chained_column<T, true> {
  T* values;
  std::uint16_t* rows;
  int pitch;

  SLICESORT_HD T value(int n) const { return values[n * pitch]; }
  SLICESORT_HD int next(int n) const { return static_cast<int>(rows[n * pitch]); }
};
template <class T>
struct chained_column<T, false> {
  column_of<T const> values;
  index_column rows;

  SLICESORT_HD T value(index_t n) const { return values[n]; }
  SLICESORT_HD index_t next(index_t n) const { return static_cast<index_t>(rows[n]); }
};

inline constexpr int chains_in_flight = 4;  // rows that a thread has in flight

template <class T, bool InShared>
struct chained_columns {
  using row = std::conditional_t<InShared, int, index_t>;

  tensor3<T const> values;
  index_rows perm;
  tensor1<index_t const> lengths;
  int width;
  bool rows_adjacent;

  struct tile {
    T* values;
    std::uint16_t* rows;
  };
  template <class SharedAllocator>
  SLICESORT_HD tile shared(SharedAllocator& allocator) const {
    tile buffers{nullptr, nullptr};
    if constexpr (InShared) {
      auto const elements =
          static_cast<std::size_t>(values.extents().length) * static_cast<std::size_t>(width);
      buffers.values = allocator.template allocate<T>(elements);
      buffers.rows = allocator.template allocate<std::uint16_t>(elements);
    }
    return buffers;
  }

  // Column and rows of a thread. Threads outside the tensor have no rows.
  struct thread_work {
    bool inside;
    column_index column;
    row length, valid;  // all and valid rows of the column
    row first, step;
  };
  template <class Block>
  SLICESORT_HD thread_work thread_work_of(Block& block) const {
    extents3 const extents = values.extents();
    auto const [walk, column_number, has_column, column] =
        column_work(block, extents, width, rows_adjacent);
    thread_work work{};
    work.inside = has_column;
    work.column = column;
    work.length = has_column ? static_cast<row>(extents.length) : row{0};
    work.valid =
        has_column ? static_cast<row>(valid_rows(lengths, column.batch, extents.length)) : row{0};
    work.first = static_cast<row>(walk.first_row);
    work.step = static_cast<row>(walk.step);
    return work;
  }
  SLICESORT_HD row offset_in_tile(int column) const {
    return rows_adjacent ? column * static_cast<row>(values.extents().length)
                         : static_cast<row>(column);
  }
  SLICESORT_HD row pitch() const { return rows_adjacent ? row{1} : static_cast<row>(width); }

  // Loads the tile into shared memory and ends with a barrier.
  template <class Block>
  SLICESORT_HD chained_column<T, InShared> load_column(Block& block, tile const& buffers,
                                                       thread_work const& work) const {
    column_of<T const> const source(values, work.column);
    index_column const perm_column(perm, work.column);
    if constexpr (InShared) {
      int const column = thread_mapping(block.rank(), block.size(), width, rows_adjacent).column;
      chained_column<T, true> const staged{buffers.values + offset_in_tile(column),
                                           buffers.rows + offset_in_tile(column), pitch()};
      for (int first = work.first; first < work.length; first += chains_in_flight * work.step) {
        T value[chains_in_flight];
        std::uint16_t next[chains_in_flight];
        SLICESORT_UNROLL
        for (int k = 0; k < chains_in_flight; ++k)
          if (first + k * work.step < work.length) {
            value[k] = source[first + k * work.step];
            next[k] = static_cast<std::uint16_t>(perm_column[first + k * work.step]);
          }
        SLICESORT_UNROLL
        for (int k = 0; k < chains_in_flight; ++k)
          if (first + k * work.step < work.length) {
            staged.values[(first + k * work.step) * staged.pitch] = value[k];
            staged.rows[(first + k * work.step) * staged.pitch] = next[k];
          }
      }
      block.sync();
      return staged;
    } else {
      return {source, perm_column};
    }
  }
};

SLICESORT_DETAIL_END
