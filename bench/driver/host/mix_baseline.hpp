// SPDX-License-Identifier: Apache-2.0
// Two baselines of sparse_mix: the same sums, factor by factor over the whole tensor; and the same
// number of multiply-adds, without loads. Both use the instruction set that the library would
// choose.
#pragma once

#include "driver/case.hpp"

#include <slicesort/sparse_mix.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

#define SLICESORT_TARGET_INCLUDE "driver/host/mix_baseline.inl"
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

namespace bench {

// Calls `f` with the baseline for an instruction set.
template <class T, class F>
void with_mix_baseline(ss::isa isa, F const& f) {
  ss::detail::with_isa(ss::detail::fused_isa(isa),
                       [&](auto target) { f(make_mix_baseline(target, T{})); });
}

}  // namespace bench
