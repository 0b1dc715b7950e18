// SPDX-License-Identifier: Apache-2.0
// Loops of sinkhorn for scalars (loops.inl, logit_split.inl, small_matrices.inl).
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/elementary.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/math/sinkhorn_sums.hpp>
#include <slicesort/detail/sinkhorn/half_steps.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_SUMS_INLINE SLICESORT_HD_INLINE
#define SLICESORT_TILE_FUNCTION SLICESORT_HD_INLINE
// clang-format off
#include <slicesort/detail/sinkhorn/loops.inl>
#include <slicesort/detail/sinkhorn/logit_split.inl>
#include <slicesort/detail/sinkhorn/small_matrices.inl>
// clang-format on
#undef SLICESORT_SUMS_INLINE
#undef SLICESORT_TILE_FUNCTION

SLICESORT_DETAIL_END
