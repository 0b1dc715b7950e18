// SPDX-License-Identifier: Apache-2.0
// feature_math for scalars, and the scalars that feature maps compute per row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/elementary.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_MATH_INLINE SLICESORT_HD_INLINE
#define SLICESORT_MATH_CONSTANT SLICESORT_HD constexpr
// clang-format off
#include <slicesort/detail/linear_attention/feature_math.inl>
// clang-format on
#undef SLICESORT_MATH_INLINE
#undef SLICESORT_MATH_CONSTANT

// Square root of a non-negative value, with an error of up to 1 ulp. Computed by divisions,
// because the hardware square root may round differently under -use_fast_math.
template <class Arithmetic, class A>
SLICESORT_HD_INLINE A square_root(Arithmetic& ops, A x) {
  using bits = typename binary_format<A>::integer;
  constexpr bits bias = bits{binary_format<A>::bias} << binary_format<A>::fraction_bits;
  if (!(x > A(0)) || bit_cast<bits>(x) >= dtype_traits<A>::infinity) return x;
  A root = bit_cast<A>(static_cast<bits>((bit_cast<bits>(x) >> 1) + (bias >> 1)));
  constexpr int steps = sizeof(A) == 8 ? 6 : 4;
  for (int i = 0; i < steps; ++i)  // Newton step (root + x / root) / 2; halving is exact
    root = static_cast<A>(0.5) * ops.fused_multiply_add(root, A(1), ops.divide(x, root));
  return root;
}

// Reads a row in memory by channel.
template <class A>
struct contiguous_row {
  A const* data;

  SLICESORT_HD_INLINE A operator()(index_t channel) const { return data[channel]; }
};

// Norm |x| of a row, given the sum of its squares. If that sum is outside the range of A, x is
// first divided by its largest magnitude. The result is at most the largest finite A.
template <class A, class Arithmetic, class Element>
SLICESORT_HD_INLINE A row_norm(Arithmetic& ops, A square_sum, index_t channels, Element const& x) {
  constexpr A min_square = static_cast<A>(sizeof(A) == sizeof(double) ? 0x1p-900 : 0x1p-80);
  A const max = max_finite<A>();
  if (!(square_sum < min_square || square_sum > max)) return square_root(ops, square_sum);
  A largest(0), sum(0);
  for (index_t c = 0; c < channels; ++c) {
    A const element = x(c), magnitude = element < A(0) ? -element : element;
    if (magnitude > largest) largest = magnitude;
  }
  if (largest == A(0) || largest > max) return largest;
  for (index_t c = 0; c < channels; ++c) {
    A const ratio = ops.divide(x(c), largest);
    sum = ops.fused_multiply_add(ratio, ratio, sum);
  }
  A const norm = ops.fused_multiply_add(largest, square_root(ops, sum), A(0));
  return norm > max ? max : norm;
}

// Divisor of a random_fourier row: its norm plus the floor.
template <class A, class Arithmetic>
SLICESORT_HD_INLINE A fourier_divisor(Arithmetic& ops, A norm, A floor) {
  return ops.fused_multiply_add(norm, A(1), floor);
}
// Reciprocal of that divisor, or 0 if the divisor is subnormal.
template <class A, class Arithmetic>
SLICESORT_HD_INLINE A fourier_scale(Arithmetic& ops, A norm, A floor) {
  A const divisor = fourier_divisor(ops, norm, floor);
  return divisor < min_normal<A>() ? A(0) : ops.divide(A(1), divisor);
}

// Cosine and sine of pi (row + 1) / (2 length), for cosine_reweighted.
template <class A>
struct row_angle {
  A cosine, sine;
};
template <class A, class Arithmetic>
SLICESORT_HD_INLINE row_angle<A> angle_of_row(Arithmetic& ops, index_t row, index_t length) {
  using math = feature_math<scalar_values<Arithmetic, double>>;
  double const fraction = ops.divide(static_cast<double>(row + 1), static_cast<double>(2 * length));
  scalar_values<Arithmetic, double> const wide_ops{ops};
  auto const angle =
      math::sincos(wide_ops, math::product(wide_ops, fraction, 3.14159265358979323846));
  return {static_cast<A>(angle.cosine), static_cast<A>(angle.sine)};
}

// Number of partial sums of a dot product or row sum. Partial sum l adds the elements l, l + 16,
// l + 32, ... in order. Then the upper half of the partial sums is added to the lower half, until
// one is left.
inline constexpr int partials_per_row = 16;

SLICESORT_DETAIL_END
