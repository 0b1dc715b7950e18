// SPDX-License-Identifier: Apache-2.0
// Weights of a row's parts, with the same bits on host and device. Tests values by their bits, so
// that compiler flags cannot change the result.
#pragma once

#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>

SLICESORT_DETAIL_BEGIN

template <class A>
SLICESORT_HD_INLINE bool is_zero(A x) {
  return (bit_cast<bits_t<A>>(x) & ~sign_bit<bits_t<A>>) == 0;
}
template <class A>
SLICESORT_HD_INLINE bool is_nan(A x) {
  return (bit_cast<bits_t<A>>(x) & ~sign_bit<bits_t<A>>) > dtype_traits<A>::infinity;
}
template <class A>
SLICESORT_HD_INLINE bool has_keys(row_statistics<A> stats) {
  return !is_zero(stats.sum) &&
         bit_cast<bits_t<A>>(stats.max) != bit_cast<bits_t<A>>(minus_infinity<A>());
}

// Computes weights[p] for the parts p < parts and returns the statistics of the merged row. A part
// without keys gets weight 0; a NaN makes every weight NaN. statistics(p) may be called twice.
// `Arithmetic` has multiply_add(a, b, c), which rounds twice, and divide(a, b).
template <class Arithmetic, class A, class Statistics>
SLICESORT_HD_INLINE row_statistics<A> merge_weights(Arithmetic& ops, int parts,
                                                    Statistics const& statistics, A* weights) {
  A max = minus_infinity<A>();
  for (int p = 0; p < parts; ++p) {
    row_statistics<A> const stats = statistics(p);
    if (has_keys(stats) && !is_nan(max) && (is_nan(stats.max) || stats.max > max)) max = stats.max;
  }
  A sum(0);
  for (int p = 0; p < parts; ++p) {
    row_statistics<A> const stats = statistics(p);
    A weight(0);
    if (has_keys(stats))
      weight = ops.multiply_add(stats.sum, exp_at_most_one(ops, stats.max - max), A(0));
    weights[p] = weight;
    sum += weight;
  }
  if (is_zero(sum)) return {minus_infinity<A>(), A(0)};
  for (int p = 0; p < parts; ++p)
    if (!is_zero(weights[p])) weights[p] = ops.divide(weights[p], sum);
  return {max, sum};
}

SLICESORT_DETAIL_END
