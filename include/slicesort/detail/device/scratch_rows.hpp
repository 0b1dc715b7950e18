// SPDX-License-Identifier: Apache-2.0
// Row numbers in the workspace, 16 bits wide where that is enough.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

inline bool narrow_rows(index_t length) { return length <= 65536; }

// A number for every element of a tensor of extents `e`.
inline void* take_scratch_rows(arena& a, extents3 e) {
  auto const elements = static_cast<std::size_t>(e.size());
  if (narrow_rows(e.length)) return a.take<std::uint16_t>(elements);
  return a.take<std::uint32_t>(elements);
}
// Row numbers in the workspace as kernels see them.
inline index_rows scratch_rows(void* data, extents3 e, strides3 strides) {
  index_rows rows;
  rows.data = data;
  rows.strides = strides;
  rows.narrow = narrow_rows(e.length);
  return rows;
}

SLICESORT_DETAIL_END
