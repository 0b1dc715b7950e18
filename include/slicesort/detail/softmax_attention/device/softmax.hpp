// SPDX-License-Identifier: Apache-2.0
// Conversion of attention scores to weights, and of weight gradients to score gradients.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Tile widths in channels. The wide tile, for 16-bit types, leaves no registers for a second chunk
// of channels, so heads with more channels use narrow tiles.
inline constexpr int narrow_tile = 64, wide_tile = 128;
template <int Width>
SLICESORT_HD constexpr int chunks_of(index_t channels) {
  return Width == narrow_tile && channels > Width ? static_cast<int>((channels + Width - 1) / Width)
                                                  : 1;
}

template <class A>
inline constexpr A log2_e = static_cast<A>(1.4426950408889634);

// Folds log2(e) into the scale for 16-bit types, which use exp2.
template <class T, class A>
SLICESORT_HD_INLINE A exp_factor_of(A scale) {
  return sizeof(T) == 2 ? scale * log2_e<A> : scale;
}
// Computes exp(x * scale) for x <= 0, where exp_factor = exp_factor_of(scale). Less accurate for
// 16-bit types, whose weights are rounded anyway.
template <class T, class Block, class A>
SLICESORT_HD_INLINE A exp_scaled(Block& block, A x, A exp_factor) {
  if constexpr (sizeof(T) == 2)
    return block.exp2(x * exp_factor);
  else
    return exp_at_most_one(block, x * exp_factor);
}

// Statistics of a query: maximum score, inverse sum of exponentials, and delta = <dy, y>. The
// inverse sum is 0 for queries that see no key and for padding.
template <class A>
struct alignas(16) query_stats {
  A max, inv_sum, delta, padding;
};

// Weight and score gradient for the score `product * score_scale`. Clamps the score to the saved
// maximum, which it may exceed due to rounding.
template <class T>
struct weight_and_score_grad {
  using A = accumulator_t<T>;
  A weight, score_grad;

  template <class Block>
  SLICESORT_HD_INLINE weight_and_score_grad(Block& block, A product, A score_scale,
                                            query_stats<A> const& stats, A dweight) {
    A const excess = block.multiply_add(product, score_scale, -stats.max);
    weight =
        exp_scaled<T>(block, excess > A(0) ? A(0) : excess, exp_factor_of<T>(A(1))) * stats.inv_sum;
    score_grad = weight * (dweight - stats.delta);
  }
};

SLICESORT_DETAIL_END
