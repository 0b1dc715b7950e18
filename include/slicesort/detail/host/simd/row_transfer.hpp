// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor's elements to rows of numbers in the accumulator's type, and back, on every
// instruction set.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_TEXT <slicesort/detail/host/simd/row_transfer.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
