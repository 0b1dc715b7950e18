// SPDX-License-Identifier: Apache-2.0
// Arithmetic in lanes on every instruction set. Products are fused into sums everywhere, so that
// the bits of a result do not depend on the set; hence a set must come from fused_isa.
#pragma once

#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/vectors.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_TEXT <slicesort/detail/host/simd/number_lanes.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
