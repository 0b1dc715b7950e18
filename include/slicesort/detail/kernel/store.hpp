// SPDX-License-Identifier: Apache-2.0
// Storing a result to its tensor, or adding it.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>

#include <type_traits>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// What an element `old` becomes: `value`, to the bit, or the sum of both, added in the
// accumulator's type and rounded once. `old` has some value also where it is overwritten.
template <class Block, class T, class Value>
SLICESORT_HD inline T stored_or_accumulated(grad_mode mode, T old, Value value) {
  using A = detail::accumulator_t<T>;
  if (mode == grad_mode::overwrite) return static_cast<T>(value);
  T const sum = static_cast<T>(static_cast<A>(old) + static_cast<A>(value));
  // Without this a compiler may always add, and add -0 where the mode is overwrite, which would
  // quiet a signaling NaN.
  if constexpr (std::is_floating_point_v<T>)
    return Block::opaque(sum);
  else
    return sum;
}
// Stores to `to`, or adds to it; `to` is read only to accumulate.
template <class Block, class T, class Value>
SLICESORT_HD inline void store_or_accumulate(grad_mode mode, T& to, Value value) {
  if (mode == grad_mode::overwrite)
    to = static_cast<T>(value);
  else
    to = stored_or_accumulated<Block>(mode, to, value);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
