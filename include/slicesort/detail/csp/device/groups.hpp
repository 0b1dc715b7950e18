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
    // One of the two values is in 0..valid-1; the other one is larger.
    std::uint32_t const difference = n - shift, corrected = difference + valid;
    return n >= valid ? n : difference < corrected ? difference : corrected;
  }
};

// Groups of a tensor, and the shifts and directions of its channels.
struct csp_groups {
  extents3 extents;
  index_t group;  // rows per group
  row_division divide_by_group;
  index_t const* shifts;      // [channels]; null if all shifts are equal
  index_t uniform_shift;      // shift of all channels, if equal
  index_t const* descending;  // [channels], nonzero if descending; null if all directions agree
  bool all_descend;           // direction of all channels, if they agree
  tensor1<index_t const> lengths;

  SLICESORT_HD index_t per_channel() const { return divide_up(extents.length, group); }

  SLICESORT_HD csp_column column(column_index column) const {
    index_t const valid = valid_rows(lengths, column.batch, extents.length);
    index_t shift = shifts != nullptr ? shifts[column.channel] : uniform_shift;
    // Divides only if necessary, because a division costs as much as a dozen elements.
    if (shift < 0 || shift >= valid) shift = wrap_row(shift, valid);
    bool const descends = descending != nullptr ? descending[column.channel] != 0 : all_descend;
    return {static_cast<std::uint32_t>(valid), static_cast<std::uint32_t>(shift), !descends};
  }
  // Returns the first row of the group of row `n`.
  SLICESORT_HD_INLINE std::uint32_t group_start(std::uint32_t n) const {
    return divide_by_group(n) * static_cast<std::uint32_t>(group);
  }
};

// Bounds on the shifts of `width` neighboring channels relative to that of the first one, modulo
// the length: from -below to above.
struct shift_spread {
  int width = 1;
  std::uint32_t above = 0, below = 0;
};

// Circular range of source rows that covers the shifted rows from `row` on of neighboring channels.
// Row n of the window is row (start + n) mod valid of x.
struct csp_window {
  std::uint32_t valid, start;
  std::uint32_t row_offset;  // shifted row n is row n + row_offset of the window, modulo 2^32

  SLICESORT_HD_INLINE static csp_window make(csp_groups const& groups, column_index index,
                                             csp_column column, shift_spread spread,
                                             std::uint32_t row) {
    std::uint32_t const valid = column.valid;
    if (row >= valid) return {valid, 0, 0};
    index_t const first_channel = index.channel & ~static_cast<index_t>(spread.width - 1);
    std::uint32_t const first_shift = groups.column({index.batch, first_channel}).shift;
    // Shift minus that of the first channel: modulo `valid`, then in [-below, above].
    std::uint32_t const circular_difference =
        column.shift - first_shift + (column.shift < first_shift ? valid : 0u);
    std::uint32_t const difference =
        circular_difference <= spread.above ? circular_difference : circular_difference - valid;
    std::uint32_t const above = spread.above < valid ? spread.above : spread.above % valid;
    std::uint32_t const source_row = row + (row < first_shift ? valid : 0u) - first_shift;
    std::uint32_t const start = source_row + (source_row < above ? valid : 0u) - above;
    return {valid, start, spread.above - difference - row};
  }
  // Returns the row of x for row `n` of the window.
  SLICESORT_HD_INLINE std::uint32_t source(std::uint32_t n) const {
    std::uint32_t const row = start + n;
    return row < valid ? row : row - valid < valid ? row - valid : row % valid;
  }
};

// Tensor of row indices, the saved order or destinations, whose width is known only at run time.
struct order_tensor {
  void* data = nullptr;
  strides3 strides{};
  int element_bytes = 1;

  order_tensor() = default;
  order_tensor(void* memory, strides3 s, int width)
      : data(memory), strides(s), element_bytes(width) {}
  explicit order_tensor(index_tensor3 t)
      : order_tensor(t.data(), t.strides(), static_cast<int>(t.width())) {}
  explicit order_tensor(const_index_tensor3 t)
      : order_tensor(const_cast<void*>(t.data()), t.strides(), static_cast<int>(t.width())) {}

  SLICESORT_HD bool is_present() const { return data != nullptr; }
  SLICESORT_HD index_t offset(column_index column) const {
    return column.batch * strides.batch + column.channel * strides.channels;
  }
};
template <class Index>
struct order_column {
  Index* data;
  index_t stride;

  SLICESORT_HD order_column(order_tensor t, column_index column)
      : data(static_cast<Index*>(t.data) + t.offset(column)), stride(t.strides.length) {}
  SLICESORT_HD_INLINE std::uint32_t operator[](index_t row) const {
    return static_cast<std::uint32_t>(data[row * stride]);
  }
};
struct untyped_order_column {
  unsigned char* data;
  index_t stride_bytes;
  int element_bytes;

  SLICESORT_HD untyped_order_column(order_tensor t, column_index column)
      : data(static_cast<unsigned char*>(t.data) + t.offset(column) * t.element_bytes),
        stride_bytes(t.strides.length * t.element_bytes),
        element_bytes(t.element_bytes) {}
  SLICESORT_HD_INLINE std::uint32_t operator[](index_t row) const {
    unsigned char const* const element = data + row * stride_bytes;
    if (element_bytes == 1) return *element;
    if (element_bytes == 2) return *reinterpret_cast<std::uint16_t const*>(element);
    return *reinterpret_cast<std::uint32_t const*>(element);
  }
  SLICESORT_HD_INLINE void set(index_t row, std::uint32_t value) const {
    unsigned char* const element = data + row * stride_bytes;
    if (element_bytes == 1)
      *element = static_cast<unsigned char>(value);
    else if (element_bytes == 2)
      *reinterpret_cast<std::uint16_t*>(element) = static_cast<std::uint16_t>(value);
    else
      *reinterpret_cast<std::uint32_t*>(element) = value;
  }
};

SLICESORT_DETAIL_END
