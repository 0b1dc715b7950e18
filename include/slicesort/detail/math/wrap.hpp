// SPDX-License-Identifier: Apache-2.0
// Row numbers that wrap around at the end of a sample.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Brings a row number of either sign into 0..length-1, or to 0 if there are no rows.
SLICESORT_HD constexpr index_t wrapped(index_t rows, index_t length) {
  if (length <= 0) return 0;
  index_t const rest = rows % length;
  return rest < 0 ? rest + length : rest;
}

SLICESORT_DETAIL_END
