// SPDX-License-Identifier: Apache-2.0
// Rows as the csp kernels see them: columns shifted circularly and cut into groups.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/policies/shift.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Shifted column. Row numbers have 32 bits, because there are at most 2^31 rows.
struct csp_column {
  std::uint32_t valid, shift;  // shift < valid, or both are 0
  bool ascending;

  // Source of row `n`. Rows past the valid ones stay in place.
  SLICESORT_HD_INLINE std::uint32_t source(std::uint32_t n) const {
    // One of the two values is out of range (wrapped around or too large), and is the larger one.
    std::uint32_t const moved = n - shift, wrapped = moved + valid;
    return n >= valid ? n : moved < wrapped ? moved : wrapped;
  }
};

struct csp_groups {
  extents3 extents;
  index_t group;
  row_division divide_by_group;
  index_t const* shifts;      // [channels]; null if all shifts are equal
  index_t uniform_shift;      // shift of all channels, if equal
  index_t const* descending;  // [channels], nonzero if descending; null if all directions agree
  bool all_descend;           // direction of all channels, if they agree
  tensor1<index_t const> lengths;

  SLICESORT_HD index_t count() const { return divide_up(extents.length, group); }

  SLICESORT_HD csp_column column(column_index column) const {
    index_t const valid = valid_rows(lengths, column.batch, extents.length);
    index_t shift = shifts != nullptr ? shifts[column.channel] : uniform_shift;
    // Divides only if necessary, because a division costs as much as a dozen elements.
    if (shift < 0 || shift >= valid) shift = wrapped(shift, valid);
    bool const descends = descending != nullptr ? descending[column.channel] != 0 : all_descend;
    return {static_cast<std::uint32_t>(valid), static_cast<std::uint32_t>(shift), !descends};
  }
  SLICESORT_HD_INLINE std::uint32_t first_of(std::uint32_t n) const {
    return divide_by_group(n) * static_cast<std::uint32_t>(group);
  }
};

// Range of the shifts among every `width` neighboring channels, relative to the shift of the first:
// at most `above` rows larger and `below` rows smaller. Shifts are compared circularly, so
// different values may be equal.
struct shift_spread {
  int width = 1;
  std::uint32_t above = 0, below = 0;
};

// Window of source rows for the shifted rows from `row` on, for a column and its neighbors. It has
// the valid rows of x from `start` on, circularly.
struct csp_window {
  std::uint32_t valid, start;
  std::uint32_t place_of_row_0;  // shifted row n is row n + place_of_row_0 of the window

  SLICESORT_HD_INLINE static csp_window make(csp_groups const& groups, column_index index,
                                             csp_column column, shift_spread spread,
                                             std::uint32_t row) {
    std::uint32_t const valid = column.valid;
    if (row >= valid) return {valid, 0, 0};
    index_t const neighbor = index.channel & ~static_cast<index_t>(spread.width - 1);
    std::uint32_t const shift = groups.column({index.batch, neighbor}).shift;
    // Circular difference of this channel's shift, in [-below, above].
    std::uint32_t const difference = column.shift - shift + (column.shift < shift ? valid : 0u);
    std::uint32_t const larger = difference <= spread.above ? difference : difference - valid;
    std::uint32_t const above = spread.above < valid ? spread.above : spread.above % valid;
    std::uint32_t const source_row = row + (row < shift ? valid : 0u) - shift;
    std::uint32_t const start = source_row + (source_row < above ? valid : 0u) - above;
    return {valid, start, spread.above - larger - row};
  }
  // Returns the row of x for row `n` of the window.
  SLICESORT_HD_INLINE std::uint32_t source(std::uint32_t n) const {
    std::uint32_t const row = start + n;
    return row < valid ? row : row - valid < valid ? row - valid : row % valid;
  }
};

struct group_rows {
  void* data = nullptr;
  strides3 strides{};
  int bytes = 1;  // bytes of an element

  group_rows() = default;
  group_rows(void* memory, strides3 s, int width) : data(memory), strides(s), bytes(width) {}
  explicit group_rows(index_tensor3 t)
      : group_rows(t.data(), t.strides(), static_cast<int>(t.width())) {}
  explicit group_rows(const_index_tensor3 t)
      : group_rows(const_cast<void*>(t.data()), t.strides(), static_cast<int>(t.width())) {}

  SLICESORT_HD bool present() const { return data != nullptr; }
  SLICESORT_HD index_t offset(column_index column) const {
    return column.batch * strides.batch + column.channel * strides.channels;
  }
};
template <class Index>
struct group_column {
  Index* data;
  index_t stride;

  SLICESORT_HD group_column(group_rows t, column_index column)
      : data(static_cast<Index*>(t.data) + t.offset(column)), stride(t.strides.length) {}
  SLICESORT_HD_INLINE std::uint32_t operator[](index_t row) const {
    return static_cast<std::uint32_t>(data[row * stride]);
  }
};
// Column of a saved order whose element width is known only at run time.
struct untyped_group_column {
  unsigned char* data;
  index_t stride;  // bytes
  int bytes;

  SLICESORT_HD untyped_group_column(group_rows t, column_index column)
      : data(static_cast<unsigned char*>(t.data) + t.offset(column) * t.bytes),
        stride(t.strides.length * t.bytes),
        bytes(t.bytes) {}
  SLICESORT_HD_INLINE std::uint32_t operator[](index_t row) const {
    unsigned char const* const p = data + row * stride;
    if (bytes == 1) return *p;
    if (bytes == 2) return *reinterpret_cast<std::uint16_t const*>(p);
    return *reinterpret_cast<std::uint32_t const*>(p);
  }
  SLICESORT_HD_INLINE void set(index_t row, std::uint32_t value) const {
    unsigned char* const p = data + row * stride;
    if (bytes == 1)
      *p = static_cast<unsigned char>(value);
    else if (bytes == 2)
      *reinterpret_cast<std::uint16_t*>(p) = static_cast<std::uint16_t>(value);
    else
      *reinterpret_cast<std::uint32_t*>(p) = value;
  }
};

SLICESORT_DETAIL_END
