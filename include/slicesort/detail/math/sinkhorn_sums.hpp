// SPDX-License-Identifier: Apache-2.0
// Sums of Sinkhorn's algorithm for scalars (sinkhorn_sums.inl).
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/elementary.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_SUMS_INLINE SLICESORT_HD_INLINE
// clang-format off
#include <slicesort/detail/math/sinkhorn_sums.inl>
// clang-format on
#undef SLICESORT_SUMS_INLINE

SLICESORT_DETAIL_END
