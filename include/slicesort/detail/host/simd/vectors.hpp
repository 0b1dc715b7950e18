// SPDX-License-Identifier: Apache-2.0
// Vectors of lanes on every instruction set: the vocabulary of all SIMD kernels.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_TEXT <slicesort/detail/host/simd/vectors.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
