// SPDX-License-Identifier: Apache-2.0
// Slices of views along the batch axis, for workspaces that hold a few samples at a time, and views
// of row numbers in the workspace, which have 16 bits if the length allows.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Samples [first, first + extents.batch) of a view.
template <class T>
tensor3<T> slice_batch(tensor3<T> view, index_t first, extents3 extents) {
  return {view.data() + first * view.strides().batch, extents, view.strides()};
}
inline tensor1<index_t const> slice_batch(tensor1<index_t const> lengths, index_t first,
                                          extents3 extents) {
  if (lengths.data() == nullptr) return lengths;
  return {lengths.data() + first * lengths.stride(), extents.batch, lengths.stride()};
}
inline index_rows slice_batch(index_rows rows, index_t first) {
  index_t const offset = first * rows.strides.batch;
  if (rows.is_16_bit)
    rows.data = static_cast<std::uint16_t*>(rows.data) + offset;
  else
    rows.data = static_cast<std::uint32_t*>(rows.data) + offset;
  return rows;
}

template <class T>
tensor_stack<T> slice_batch(tensor_stack<T> view, index_t first, index_t count) {
  if (view.data() == nullptr) return view;
  stack_extents const extents = view.extents();
  return {view.data() + first * view.strides().batch,
          {extents.outer, count, extents.length, extents.channels},
          view.strides()};
}

inline bool fits_16_bits(index_t length) { return length <= 65536; }

// Takes memory for a tensor of row numbers.
inline void* allocate_row_numbers(arena& memory, extents3 extents) {
  auto const elements = static_cast<std::size_t>(extents.size());
  if (fits_16_bits(extents.length)) return memory.take<std::uint16_t>(elements);
  return memory.take<std::uint32_t>(elements);
}
inline index_rows row_numbers_view(void* data, extents3 extents, strides3 strides) {
  index_rows rows;
  rows.data = data;
  rows.strides = strides;
  rows.is_16_bit = fits_16_bits(extents.length);
  return rows;
}

SLICESORT_DETAIL_END
