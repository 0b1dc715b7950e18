// SPDX-License-Identifier: Apache-2.0
// Columns whose rows a thread follows along their permutation: n, p[n], p[p[n]], .. In shared
// memory if they fit, else in place.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// A column as one thread sees it. InShared: at most 65536 rows.
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

inline constexpr int chained_at_once = 4;  // rows that a thread has under way

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
  SLICESORT_HD tile shared(SharedAllocator& shared_memory) const {
    tile t{nullptr, nullptr};
    if constexpr (InShared) {
      auto const elements =
          static_cast<std::size_t>(values.extents().length) * static_cast<std::size_t>(width);
      t.values = shared_memory.template allocate<T>(elements);
      t.rows = shared_memory.template allocate<std::uint16_t>(elements);
    }
    return t;
  }

  // A thread's column and rows; no rows if it is outside the tensor.
  struct thread_work {
    bool inside;
    column_index at;
    row length, valid;  // rows of the column
    row first, step;
  };
  template <class Block>
  SLICESORT_HD thread_work thread_work_of(Block& block) const {
    extents3 const e = values.extents();
    auto const [walk, number, inside, at] = column_work(block, e, width, rows_adjacent);
    thread_work work{};
    work.inside = inside;
    work.at = at;
    work.length = inside ? static_cast<row>(e.length) : row{0};
    work.valid = inside ? static_cast<row>(valid_rows(lengths, at.batch, e.length)) : row{0};
    work.first = static_cast<row>(walk.first_row);
    work.step = static_cast<row>(walk.step);
    return work;
  }
  SLICESORT_HD row offset_in_tile(int column) const {
    return rows_adjacent ? column * static_cast<row>(values.extents().length)
                         : static_cast<row>(column);
  }
  SLICESORT_HD row pitch() const { return rows_adjacent ? row{1} : static_cast<row>(width); }

  // Loads the tile into shared memory, and ends with a barrier.
  template <class Block>
  SLICESORT_HD chained_column<T, InShared> open(Block& block, tile const& t,
                                                thread_work const& s) const {
    column_of<T const> const from(values, s.at);
    index_column const p(perm, s.at);
    if constexpr (InShared) {
      int const column = tile_walk(block.rank(), block.size(), width, rows_adjacent).column;
      chained_column<T, true> const c{t.values + offset_in_tile(column),
                                      t.rows + offset_in_tile(column), pitch()};
      for (int first = s.first; first < s.length; first += chained_at_once * s.step) {
        T value[chained_at_once];
        std::uint16_t next[chained_at_once];
        SLICESORT_UNROLL
        for (int k = 0; k < chained_at_once; ++k)
          if (first + k * s.step < s.length) {
            value[k] = from[first + k * s.step];
            next[k] = static_cast<std::uint16_t>(p[first + k * s.step]);
          }
        SLICESORT_UNROLL
        for (int k = 0; k < chained_at_once; ++k)
          if (first + k * s.step < s.length) {
            c.values[(first + k * s.step) * c.pitch] = value[k];
            c.rows[(first + k * s.step) * c.pitch] = next[k];
          }
      }
      block.sync();
      return c;
    } else {
      return {from, p};
    }
  }
};

SLICESORT_DETAIL_END
