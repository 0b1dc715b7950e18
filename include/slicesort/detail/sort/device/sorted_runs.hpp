// SPDX-License-Identifier: Apache-2.0
// The sorted runs of columns that are too long for shared memory, as they lie in the workspace.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Of some columns, each contiguous: [columns, length].
template <class T>
struct sorted_runs {
  T* values = nullptr;
  std::uint32_t* rows = nullptr;  // null: not kept
  index_t length = 0;

  SLICESORT_HD index_t offset(index_t column) const { return column * length; }
};

SLICESORT_DETAIL_END
