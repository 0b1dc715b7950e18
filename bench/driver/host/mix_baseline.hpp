// SPDX-License-Identifier: Apache-2.0
// What sparse_mix is measured against: the same sums factor by factor over whole rows of the
// tensor, and as many multiply-adds with nothing to load. Both use the library's instruction set.
#pragma once

#include "driver/case.hpp"

#include <slicesort/sparse_mix.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

#define SLICESORT_TARGET_TEXT "driver/host/mix_baseline.inl"
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

namespace bench {

// f(the baseline of the set that the library would choose).
template <class T, class F>
void with_mix_baseline(ss::isa wanted, F const& f) {
  ss::detail::with_isa(ss::detail::fused_isa(wanted),
                       [&](auto target) { f(mix_baseline_of(target, T{})); });
}

}  // namespace bench
