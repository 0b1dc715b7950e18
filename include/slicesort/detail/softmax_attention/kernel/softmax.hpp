// SPDX-License-Identifier: Apache-2.0
// From scores to weights.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The widths of tiles: channels that a block has at once. The wide one, of 16-bit types, leaves no register for
// more than one chunk of channels; where there are more, they are narrow.
inline constexpr int narrow_tile = 64, wide_tile = 128;
template <int Width>
SLICESORT_HD constexpr int chunks_of(index_t channels) {
  return Width == narrow_tile && channels > Width ? static_cast<int>((channels + Width - 1) / Width)
                                                  : 1;
}

template <class A>
inline constexpr A log2_e = static_cast<A>(1.4426950408889634);

// exp(x * scale) for x <= 0; `factor` is factor_of(scale). Weights of 16-bit types need not be as good.
template <class T, class A>
SLICESORT_HD_INLINE A factor_of(A scale) {
  return sizeof(T) == 2 ? scale * log2_e<A> : scale;
}
template <class T, class Block, class A>
SLICESORT_HD_INLINE A exp_of(Block& block, A x, A factor) {
  if constexpr (sizeof(T) == 2)
    return block.exp2(x * factor);
  else
    return detail::exp_at_most_one(block, x * factor);
}

// What backward knows of a query: its greatest score, one over its sum of exponentials (0 for a query
// without keys, and one past the length), and <dy, y>.
template <class A>
struct alignas(16) query_stats {
  A max, inv_sum, delta, unused;
};

// The weight of a score, and its gradient where `dscore` is that of the weight. A product is a score when it
// is multiplied by `times`. Rounding must not make a score greater than the greatest.
template <class T>
struct weight_and_dscore {
  using A = detail::accumulator_t<T>;
  A weight, dscore;

  template <class Block>
  SLICESORT_HD_INLINE weight_and_dscore(Block& block, A product, A times, query_stats<A> const& of,
                                        A dweight) {
    A const past = block.multiply_add(product, times, -of.max);
    weight = exp_of<T>(block, past > A(0) ? A(0) : past, factor_of<T>(A(1))) * of.inv_sum;
    dscore = weight * (dweight - of.delta);
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
