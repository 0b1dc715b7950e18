// SPDX-License-Identifier: Apache-2.0
// Access to tensor columns from kernels. The flat index of a column is batch * channels + channel.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

struct column_index {
  index_t batch, channel;
};
SLICESORT_HD constexpr column_index column_index_of(index_t column, index_t channels) {
  index_t const batch = column / channels;
  return {batch, column - batch * channels};
}

// Returns the pointer increment between a thread's rows, or 0 if there is no next row, because the
// stride of an axis of extent 1 is arbitrary.
SLICESORT_HD constexpr index_t row_increment(index_t step, index_t rows, index_t stride) {
  return step < rows ? step * stride : 0;
}

// Rows first, first + step, ... below end.
struct row_range {
  int first, step, end;
};
// Iterates over elements that are `increment` apart. Cheaper than computing the address of each
// row.
template <class T>
struct row_iterator {
  T* pointer;
  index_t increment;

  SLICESORT_HD_INLINE T& next() {
    T& element = *pointer;
    pointer += increment;
    return element;
  }
};
// Iterates over rows `start` + r of a column for each r in `rows`. `rows` must not be empty.
template <class T>
SLICESORT_HD_INLINE row_iterator<T> walk_rows(T* column, index_t stride, index_t start,
                                              row_range rows) {
  return {column + (start + rows.first) * stride, row_increment(rows.step, rows.end, stride)};
}
// Iterates over a column that is accessed by row number.
template <class Rows>
struct indexed_iterator {
  Rows rows;
  index_t next_row, step;

  SLICESORT_HD_INLINE decltype(auto) next() {
    index_t const row = next_row;
    next_row += step;
    return rows[row];
  }
};
// `Count` consecutive rows of a range. With `InBounds`, all of them exist, and bounds checks are
// skipped.
template <int Count, bool InBounds>
struct row_batch {
  row_range rows;

  SLICESORT_HD_INLINE int row(int k) const { return rows.first + k * rows.step; }
  template <class F>
  SLICESORT_HD_INLINE void for_each(F const& f) const {
    SLICESORT_UNROLL
    for (int k = 0; k < Count; ++k)
      if (InBounds || row(k) < rows.end) f(k, row(k));
  }
};
// Calls f(batch) for all rows in batches of `Count`.
template <int Count, class F>
SLICESORT_HD_INLINE void for_row_batches(row_range rows, F const& f) {
  int const last_offset = (Count - 1) * rows.step;
  SLICESORT_NO_UNROLL
  for (; rows.first + last_offset < rows.end; rows.first += Count * rows.step)
    f(row_batch<Count, true>{rows});
  if (rows.first < rows.end) f(row_batch<Count, false>{rows});
}
// Calls write(row, read(row)) for all rows, with `Count` independent reads in flight.
template <int Count, class Read, class Write>
SLICESORT_HD_INLINE void copy_rows(row_range rows, Read const& read, Write const& write) {
  for_row_batches<Count>(rows, [&](auto batch) {
    decltype(read(0)) value[static_cast<std::size_t>(Count)];
    batch.for_each([&](int k, int row) { value[k] = read(row); });
    batch.for_each([&](int k, int row) { write(row, value[k]); });
  });
}

// Column of a tensor. Row n is data[n * stride].
template <class T>
struct column_of {
  T* data;
  index_t stride;

  SLICESORT_HD column_of(tensor3<T> tensor, column_index column)
      : data(tensor.data() + tensor.offset(column.batch, 0, column.channel)),
        stride(tensor.strides().length) {}
  SLICESORT_HD T& operator[](index_t row) const { return data[row * stride]; }
  SLICESORT_HD row_iterator<T> walk(index_t start, row_range rows) const {
    return walk_rows(data, stride, start, rows);
  }
};

// Optional tensor of row numbers, whose width of 16 or 32 bits is known at run time only.
struct index_rows {
  void* data = nullptr;
  strides3 strides{};
  bool is_16_bit = false;

  index_rows() = default;
  template <bool Const>
  index_rows(basic_index_tensor3<Const> tensor)
      : data(const_cast<void*>(tensor.data())),
        strides(tensor.strides()),
        is_16_bit(tensor.width() == index_width::bits16) {}

  SLICESORT_HD bool is_present() const { return data != nullptr; }
};
struct index_column {
  void* data;
  index_t stride;
  bool is_16_bit;

  SLICESORT_HD index_column(index_rows rows, column_index column)
      : data(nullptr), stride(rows.strides.length), is_16_bit(rows.is_16_bit) {
    index_t const first =
        column.batch * rows.strides.batch + column.channel * rows.strides.channels;
    if (is_16_bit)
      data = static_cast<std::uint16_t*>(rows.data) + first;
    else
      data = static_cast<std::uint32_t*>(rows.data) + first;
  }
  SLICESORT_HD std::uint32_t operator[](index_t row) const {
    return is_16_bit ? static_cast<std::uint16_t const*>(data)[row * stride]
                     : static_cast<std::uint32_t const*>(data)[row * stride];
  }
  SLICESORT_HD void set(index_t row, std::uint32_t value) const {
    if (is_16_bit)
      static_cast<std::uint16_t*>(data)[row * stride] = static_cast<std::uint16_t>(value);
    else
      static_cast<std::uint32_t*>(data)[row * stride] = value;
  }
  // Sets row `start` + n to value_of(n) for all n in `rows`.
  template <int Count, class ValueOf>
  SLICESORT_HD_INLINE void set_rows(index_t start, row_range rows, ValueOf const& value_of) const {
    if (is_16_bit)
      set_typed<Count>(static_cast<std::uint16_t*>(data), start, rows, value_of);
    else
      set_typed<Count>(static_cast<std::uint32_t*>(data), start, rows, value_of);
  }

 private:
  template <int Count, class Index, class ValueOf>
  SLICESORT_HD_INLINE void set_typed(Index* column, index_t start, row_range rows,
                                     ValueOf const& value_of) const {
    if (rows.first >= rows.end) return;
    row_iterator<Index> walk = walk_rows(column, stride, start, rows);
    copy_rows<Count>(rows, value_of, [&](int, auto row) { walk.next() = static_cast<Index>(row); });
  }
};

// Returns log2 of a power of two below 2^16.
SLICESORT_HD_INLINE int log2_of(int power_of_two) {
  auto const p = static_cast<unsigned>(power_of_two);
  return static_cast<int>((p & 0xaaaau) != 0) | static_cast<int>((p & 0xccccu) != 0) << 1 |
         static_cast<int>((p & 0xf0f0u) != 0) << 2 | static_cast<int>((p & 0xff00u) != 0) << 3;
}

// Maps the threads of a block to a tile of `width` columns, a power of two that divides the block.
// Each thread stays in one column. Neighboring threads take neighboring columns, or neighboring
// rows if rows are adjacent in memory.
struct thread_mapping {
  int column;           // column in the tile
  int first_row, step;  // first row and row step of the thread

  SLICESORT_HD thread_mapping(int thread, int threads, int width, bool rows_adjacent) {
    int const log2_width = log2_of(width);  // avoids an integer division
    step = threads >> log2_width;
    column = thread & (width - 1);
    first_row = thread >> log2_width;
    if (rows_adjacent) {
      column = thread / step;
      first_row = thread - column * step;
    }
  }
  // Returns the thread's rows in a column of `end` rows.
  SLICESORT_HD row_range rows(int end) const { return {first_row, step, end}; }
};

// Column of a thread in a tile of a tensor's columns. The last tile may extend past the tensor.
// Threads without a column get column 0 and must not process it.
struct column_work {
  thread_mapping walk;
  index_t column_number;  // flat index of the column
  bool has_column;        // true if the thread's column is in the tensor
  column_index column;

  template <class Block>
  SLICESORT_HD column_work(Block& block, extents3 extents, int width, bool rows_adjacent)
      : walk(block.rank(), block.size(), width, rows_adjacent),
        column_number(block.index() * width + walk.column),
        has_column(column_number < extents.batch * extents.channels),
        column(has_column ? column_index_of(column_number, extents.channels) : column_index{0, 0}) {
  }
};

SLICESORT_DETAIL_END
