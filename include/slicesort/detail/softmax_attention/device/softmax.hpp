// SPDX-License-Identifier: Apache-2.0
// Conversion of scores to weights.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Tile widths in channels. The wide tile, for 16-bit types, has no registers for a second chunk of
// channels, so heads with more channels use narrow tiles.
inline constexpr int narrow_tile = 64, wide_tile = 128;
template <int Width>
SLICESORT_HD constexpr int chunks_of(index_t channels) {
  return Width == narrow_tile && channels > Width ? static_cast<int>((channels + Width - 1) / Width)
                                                  : 1;
}

template <class A>
inline constexpr A log2_e = static_cast<A>(1.4426950408889634);

// exp(x * scale) for x <= 0, with factor = factor_of(scale). Less accurate for 16-bit types, whose
// weights are rounded anyway.
template <class T, class A>
SLICESORT_HD_INLINE A factor_of(A scale) {
  return sizeof(T) == 2 ? scale * log2_e<A> : scale;
}
template <class T, class Block, class A>
SLICESORT_HD_INLINE A exp_of(Block& block, A x, A factor) {
  if constexpr (sizeof(T) == 2)
    return block.exp2(x * factor);
  else
    return exp_at_most_one(block, x * factor);
}

// Statistics of a query: maximum score, inverse sum of exponentials, and delta = <dy, y>. The
// inverse sum is 0 for queries without keys or past the length.
template <class A>
struct alignas(16) query_stats {
  A max, inv_sum, delta, unused;
};

// Weight and gradient of the score product * score_scale. Clamps the score to the saved maximum,
// which it may exceed due to rounding.
template <class T>
struct weight_and_score_grad {
  using A = accumulator_t<T>;
  A weight, score_grad;

  template <class Block>
  SLICESORT_HD_INLINE weight_and_score_grad(Block& block, A product, A score_scale,
                                            query_stats<A> const& stats, A dweight) {
    A const excess = block.multiply_add(product, score_scale, -stats.max);
    weight = exp_of<T>(block, excess > A(0) ? A(0) : excess, factor_of<T>(A(1))) * stats.inv_sum;
    score_grad = weight * (dweight - stats.delta);
  }
};

SLICESORT_DETAIL_END
