// SPDX-License-Identifier: Apache-2.0
// Stores results, or adds them to the stored values.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Returns the new value of an element: `value` itself, or its sum with `old` in the accumulator's
// type, rounded once. `old` must be initialized even if it is overwritten.
template <class Block, class T>
SLICESORT_HD inline T stored_or_accumulated(grad_mode mode, T old, T value) {
  using A = accumulator_t<T>;
  if (mode == grad_mode::overwrite) return value;
  T const sum = rounded<T>(static_cast<A>(old) + static_cast<A>(value));
  // Prevents an optimization that overwrites by adding -0, which would quiet a signaling NaN.
  if constexpr (std::is_floating_point_v<T>)
    return Block::opaque(sum);
  else
    return sum;
}
// Stores or accumulates `value`. Reads `element` only if it accumulates.
template <class Block, class T>
SLICESORT_HD inline void store_or_accumulate(grad_mode mode, T& element, T value) {
  if (mode == grad_mode::overwrite)
    element = value;
  else
    element = stored_or_accumulated<Block>(mode, element, value);
}

// Returns the new value of an element from an unrounded sum.
template <class T>
SLICESORT_HD inline T stored_or_accumulated_sum(grad_mode mode, T old, accumulator_t<T> sum) {
  if (mode == grad_mode::accumulate) sum = static_cast<accumulator_t<T>>(old) + sum;
  return rounded<T>(sum);
}
template <class T>
SLICESORT_HD inline void store_or_accumulate_sum(grad_mode mode, T& element, accumulator_t<T> sum) {
  element = stored_or_accumulated_sum(mode, mode == grad_mode::accumulate ? element : T{}, sum);
}

SLICESORT_DETAIL_END
