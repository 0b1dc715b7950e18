// SPDX-License-Identifier: Apache-2.0
// An element that is its own key: 32 bits, ordered as an unsigned integer. With it the kernels that
// sort floating-point numbers also sort integers.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

struct raw_key32 {
  std::uint32_t bits;
};

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

template <>
struct dtype_traits<detail::raw_key32> {
  using bits = std::uint32_t;
  using accumulator = std::uint32_t;
  static constexpr bits infinity = 0xffffffffu;
  static constexpr char const* name = "raw32";
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <>
SLICESORT_HD constexpr std::uint32_t sortable_key<raw_key32>(std::uint32_t bits) {
  return bits;
}

SLICESORT_DETAIL_END
