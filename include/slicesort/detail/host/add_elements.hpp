// SPDX-License-Identifier: Apache-2.0
// Adding neighboring elements, each sum in the accumulator's type and rounded once.
#pragma once

#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// to[c] += from[c]
template <class T>
void add_elements(T* to, T const* from, index_t count) {
  using lanes = portable::number_lanes<T>;
  using A = typename lanes::A;
  index_t c = 0;
  for (; c + lanes::count <= count; c += lanes::count)
    lanes::template store<false>(to + c, lanes::plus(lanes::load(to + c), lanes::load(from + c)));
  for (; c < count; ++c) to[c] = rounded<T>(static_cast<A>(to[c]) + static_cast<A>(from[c]));
}

SLICESORT_DETAIL_END
