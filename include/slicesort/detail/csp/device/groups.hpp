// SPDX-License-Identifier: Apache-2.0
// The rows of csp as its kernels see them: columns shifted in a circle and cut into groups.
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

// One shifted column. Rows are numbered in 32 bits: there are at most 2^31.
struct csp_column {
  std::uint32_t valid, shift;  // shift < valid, or both are 0
  bool ascending;

  // The row that row `n` comes from. Rows past the valid ones stay.
  SLICESORT_HD_INLINE std::uint32_t source(std::uint32_t n) const {
    // One of the two wrapped around or is too large, and that is the larger one.
    std::uint32_t const moved = n - shift, wrapped = moved + valid;
    return n >= valid ? n : moved < wrapped ? moved : wrapped;
  }
};

struct csp_groups {
  extents3 extents;  // of the tensor
  index_t group;
  row_division by_group;
  index_t const* shifts;      // of every channel; null where all are equal
  index_t uniform_shift;      // of every channel, where all are equal
  index_t const* descending;  // not 0 for every channel that descends; null where all agree
  bool all_descend;           // then
  tensor1<index_t const> lengths;

  // Groups of a sample.
  SLICESORT_HD index_t count() const { return divide_up(extents.length, group); }

  SLICESORT_HD csp_column column(column_index at) const {
    index_t const valid = valid_rows(lengths, at.batch, extents.length);
    index_t shift = shifts != nullptr ? shifts[at.channel] : uniform_shift;
    // Divides only where it must: a division costs as much as a dozen elements.
    if (shift < 0 || shift >= valid) shift = wrapped(shift, valid);
    bool const descends = descending != nullptr ? descending[at.channel] != 0 : all_descend;
    return {static_cast<std::uint32_t>(valid), static_cast<std::uint32_t>(shift), !descends};
  }
  // The first row of the group of row `n`.
  SLICESORT_HD_INLINE std::uint32_t first_of(std::uint32_t n) const {
    return by_group(n) * static_cast<std::uint32_t>(group);
  }
};

// By how much the shifts of channels differ from that of the first of every `width` neighbors, in
// rows: the largest is larger by `above`, the smallest smaller by `below`. Rows are counted in a
// circle, so that it does not matter which of the equal shifts a policy names.
struct shift_spread {
  int width = 1;
  std::uint32_t above = 0, below = 0;
};

// The valid rows of a column that the rows from `row` on may come from, in the column and in all
// its neighbors: rows of x from `start` on, in a circle. They are the rows of a window.
struct csp_window {
  std::uint32_t valid, start;
  std::uint32_t place_of_row_0;  // row n after the shift is row n + place_of_row_0 of the window

  SLICESORT_HD_INLINE static csp_window of(csp_groups const& groups, column_index at,
                                           csp_column column, shift_spread spread,
                                           std::uint32_t row) {
    std::uint32_t const valid = column.valid;
    if (row >= valid) return {valid, 0, 0};
    index_t const neighbor = at.channel & ~static_cast<index_t>(spread.width - 1);
    std::uint32_t const shift = groups.column({at.batch, neighbor}).shift;
    // How much larger this channel's shift is, which is -below .. above in a circle.
    std::uint32_t const ahead = column.shift - shift + (column.shift < shift ? valid : 0u);
    std::uint32_t const larger = ahead <= spread.above ? ahead : ahead - valid;
    std::uint32_t const before = spread.above < valid ? spread.above : spread.above % valid;
    std::uint32_t const from = row + (row < shift ? valid : 0u) - shift;
    std::uint32_t const start = from + (from < before ? valid : 0u) - before;
    return {valid, start, spread.above - larger - row};
  }
  // Row `n` of the window in x.
  SLICESORT_HD_INLINE std::uint32_t source(std::uint32_t n) const {
    std::uint32_t const row = start + n;
    return row < valid ? row : row - valid < valid ? row - valid : row % valid;
  }
};

// The saved order of groups (detail/csp/params.hpp), or none.
struct group_rows {
  void* data = nullptr;
  strides3 strides{};
  int bytes = 1;  // of an element

  group_rows() = default;
  group_rows(void* where, strides3 s, int width) : data(where), strides(s), bytes(width) {}
  explicit group_rows(index_tensor3 t)
      : group_rows(t.data(), t.strides(), static_cast<int>(t.width())) {}
  explicit group_rows(const_index_tensor3 t)
      : group_rows(const_cast<void*>(t.data()), t.strides(), static_cast<int>(t.width())) {}

  SLICESORT_HD bool present() const { return data != nullptr; }
  SLICESORT_HD index_t offset(column_index at) const {
    return at.batch * strides.batch + at.channel * strides.channels;
  }
};
// A column of a saved order whose element width is known at compile time.
template <class Index>
struct group_column {
  Index* data;
  index_t stride;

  SLICESORT_HD group_column(group_rows t, column_index at)
      : data(static_cast<Index*>(t.data) + t.offset(at)), stride(t.strides.length) {}
  SLICESORT_HD_INLINE std::uint32_t operator[](index_t row) const {
    return static_cast<std::uint32_t>(data[row * stride]);
  }
};
// A column of a saved order whose element width is known at run time.
struct any_group_column {
  unsigned char* data;
  index_t stride;  // bytes
  int bytes;

  SLICESORT_HD any_group_column(group_rows t, column_index at)
      : data(static_cast<unsigned char*>(t.data) + t.offset(at) * t.bytes),
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
