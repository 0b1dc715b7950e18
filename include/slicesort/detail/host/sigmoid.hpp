// SPDX-License-Identifier: Apache-2.0
// Sigmoids of contiguous numbers, compiled for every instruction set.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/lane_values.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/host/sigmoid.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class A>
void compute_sigmoids(isa requested, A const* x, A* y, index_t count) {
  with_isa(fused_isa(requested), [&](auto target) { compute_sigmoids(target, x, y, count); });
  clear_upper_halves();
}

SLICESORT_DETAIL_END
