// SPDX-License-Identifier: Apache-2.0
// Rows of a sample taken as a circle.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {
namespace detail {

// A number of rows, of any sign, brought into 0..length-1. (0 where there are no rows.)
SLICESORT_HD constexpr index_t wrapped(index_t rows, index_t length) {
  if (length <= 0) return 0;
  index_t const rest = rows % length;
  return rest < 0 ? rest + length : rest;
}

}  // namespace detail
}  // namespace v0
}  // namespace slicesort
