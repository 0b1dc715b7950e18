// SPDX-License-Identifier: Apache-2.0
// Storing a result to its tensor, or adding it.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// What an element `old` becomes when another one moves to its place: `value`, to the bit, or the
// sum of both, added in the accumulator's type and rounded once. `old` has some value also where it
// is overwritten.
template <class Block, class T>
SLICESORT_HD inline T stored_or_accumulated(grad_mode mode, T old, T value) {
  using A = accumulator_t<T>;
  if (mode == grad_mode::overwrite) return value;
  T const sum = rounded<T>(static_cast<A>(old) + static_cast<A>(value));
  // Without this a compiler may always add, and add -0 where the mode is overwrite, which would
  // quiet a signaling NaN.
  if constexpr (std::is_floating_point_v<T>)
    return Block::opaque(sum);
  else
    return sum;
}
// Stores to `to`, or adds to it; `to` is read only to accumulate.
template <class Block, class T>
SLICESORT_HD inline void store_or_accumulate(grad_mode mode, T& to, T value) {
  if (mode == grad_mode::overwrite)
    to = value;
  else
    to = stored_or_accumulated<Block>(mode, to, value);
}

// What an element `old` becomes by a sum that is not rounded yet: the sum, or both added.
template <class T>
SLICESORT_HD inline T stored_or_accumulated_sum(grad_mode mode, T old, accumulator_t<T> sum) {
  if (mode == grad_mode::accumulate) sum = static_cast<accumulator_t<T>>(old) + sum;
  return rounded<T>(sum);
}
// Stores such a sum to `to`, or adds it; `to` is read only to accumulate.
template <class T>
SLICESORT_HD inline void store_or_accumulate_sum(grad_mode mode, T& to, accumulator_t<T> sum) {
  to = stored_or_accumulated_sum(mode, mode == grad_mode::accumulate ? to : T{}, sum);
}

SLICESORT_DETAIL_END
