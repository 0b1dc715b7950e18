// SPDX-License-Identifier: Apache-2.0
// Types whose bits are a float's, or its upper half: float and bfloat16. A float unit can compare
// them.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class T>
inline constexpr bool is_upper_part_of_float = std::is_same_v<T, float> ||
                                               (sizeof(T) == 2 &&
                                                dtype_traits<T>::infinity ==
                                                    dtype_traits<float>::infinity >> 16);
template <class T>
SLICESORT_HD inline float upper_part_of_float(bits_t<T> value) {
  constexpr int shift = 32 - 8 * static_cast<int>(sizeof(T));
  return bit_cast<float>(static_cast<std::uint32_t>(value) << shift);
}

SLICESORT_DETAIL_END
