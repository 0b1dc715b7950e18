// SPDX-License-Identifier: Apache-2.0
// How a result reaches its tensor.
#pragma once

#include <slicesort/detail/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// What an element `old` becomes: `value`, or the sum of both, added in the accumulator's type and
// rounded once. `old` may be anything where it is overwritten.
template <class T, class Value>
SLICESORT_HD inline T delivered(grad_mode mode, T old, Value value) {
  using A = detail::accumulator_t<T>;
  if (mode == grad_mode::overwrite) return static_cast<T>(value);
  return static_cast<T>(static_cast<A>(old) + static_cast<A>(value));
}
// The same where `to` is read only if need be.
template <class T, class Value>
SLICESORT_HD inline void deliver(grad_mode mode, T& to, Value value) {
  if (mode == grad_mode::overwrite)
    to = static_cast<T>(value);
  else
    to = delivered(mode, to, value);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
