// SPDX-License-Identifier: Apache-2.0
/// The logistic function, for gates and SiLU, with the same bits on every processor and device.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/host/sigmoid.hpp>
#include <slicesort/detail/math/elementary.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

SLICESORT_OPERATORS_BEGIN

/// Returns `1 / (1 + exp(-x))` of a float or double, on the host or a device.
///
/// - **Error** relative, up to 3 epsilons (distances from 1 to the next number). 0 below -86.9
///   (double: -708); a NaN becomes the canonical one.
/// - **Bits** are the same on every processor, instruction set and device.
/// - **Errors** other types do not compile; nothing is checked at run time.
template <class A>
SLICESORT_HD A sigmoid(A x) {
  static_assert(std::is_same_v<A, float> || std::is_same_v<A, double>,
                "slicesort::sigmoid takes float or double");
  detail::library_arithmetic<A> arithmetic;
  using ops = detail::scalar_values<detail::library_arithmetic<A>, A>;
  return detail::rounded<A>(detail::elementary<ops>::sigmoid({arithmetic}, x));
}

/// Computes `sigmoid` of `count` adjacent floats or doubles in host memory, on the calling thread,
/// with the vectors of `exec.instructions`. x and y may be the same address; otherwise they must
/// not overlap.
template <class Exec, class A>
void sigmoid(Exec const& exec, A const* x, A* y, index_t count) {
  static_assert(Exec::backend::host_memory, "slicesort::sigmoid takes a policy of the host");
  detail::compute_sigmoids(exec.instructions, x, y, count);
}

SLICESORT_OPERATORS_END
