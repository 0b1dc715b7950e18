// SPDX-License-Identifier: Apache-2.0
// Elementary functions of SIMD lanes (math/elementary.inl) on every instruction set. The set must
// come from fused_isa.
#pragma once

#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/host/simd/lane_values.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
