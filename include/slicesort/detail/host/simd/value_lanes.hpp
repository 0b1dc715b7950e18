// SPDX-License-Identifier: Apache-2.0
// SIMD arithmetic on every instruction set. Always uses fused multiply-adds, so results do not
// depend on the set. The set must come from fused_isa.
#pragma once

#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/host/simd/value_lanes.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

// Computes to[c] += from[c] in the accumulator's type, rounded once.
template <class T>
void add_elements(T* to, T const* from, index_t count) {
  using lanes = portable::value_lanes<T>;
  using A = typename lanes::A;
  index_t c = 0;
  for (; c + lanes::count <= count; c += lanes::count)
    lanes::template store<false>(to + c, lanes::plus(lanes::load(to + c), lanes::load(from + c)));
  for (; c < count; ++c) to[c] = rounded<T>(static_cast<A>(to[c]) + static_cast<A>(from[c]));
}

SLICESORT_DETAIL_END
