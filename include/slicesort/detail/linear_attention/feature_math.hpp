// SPDX-License-Identifier: Apache-2.0
// The functions of feature_math.inl for single numbers, and what is formed once for a row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// `Arithmetic` is a block, or whatever else has fused_multiply_add(a, b, c) and divide(a, b).
template <class Arithmetic, class T>
struct single_numbers {
  using A = T;
  using number = T;
  using bits = typename binary_format<T>::integer;

  Arithmetic& arithmetic;

  SLICESORT_HD_INLINE A fused(A a, A b, A c) const {
    return arithmetic.fused_multiply_add(a, b, c);
  }
  SLICESORT_HD_INLINE A every(A a) const { return a; }
  SLICESORT_HD_INLINE bits every_bits(bits b) const { return b; }
  SLICESORT_HD_INLINE bits bits_of(A a) const { return bit_cast<bits>(a); }
  SLICESORT_HD_INLINE A number_of(bits b) const { return bit_cast<A>(b); }
  SLICESORT_HD_INLINE A higher(A a, A b) const { return a < b ? b : a; }
  SLICESORT_HD_INLINE bits positive(A a) const { return ~(static_cast<bits>(a > A(0)) + ~bits{0}); }
};

#define SLICESORT_FEATURE_INLINE SLICESORT_HD_INLINE
#define SLICESORT_FEATURE_CONSTANT SLICESORT_HD constexpr
// clang-format off
#include <slicesort/detail/linear_attention/feature_math.inl>
// clang-format on
#undef SLICESORT_FEATURE_INLINE
#undef SLICESORT_FEATURE_CONSTANT

// The square root of a number that is not negative, to a unit in the last place, by divisions: a
// processor's own may be another one under -use_fast_math.
template <class Arithmetic, class A>
SLICESORT_HD_INLINE A square_root(Arithmetic& ops, A x) {
  using bits = typename binary_format<A>::integer;
  constexpr bits bias = bits{binary_format<A>::bias} << binary_format<A>::fraction_bits;
  if (!(x > A(0)) || bit_cast<bits>(x) >= dtype_traits<A>::infinity) return x;
  A root = bit_cast<A>(static_cast<bits>((bit_cast<bits>(x) >> 1) + (bias >> 1)));
  constexpr int steps = sizeof(A) == 8 ? 6 : 4;
  for (int i = 0; i < steps; ++i)  // Newton's (root + x / root) / 2; halving is exact
    root = static_cast<A>(0.5) * ops.fused_multiply_add(root, A(1), ops.divide(x, root));
  return root;
}

// A row in memory as a function of the channel.
template <class A>
struct contiguous_row {
  A const* data;

  SLICESORT_HD_INLINE A operator()(index_t channel) const { return data[channel]; }
};

// |x| of a row, given the sum of its squares. Where that left the range of A, the squares of x over
// its largest magnitude are summed. It is at most A's largest number.
template <class A, class Arithmetic, class Element>
SLICESORT_HD_INLINE A row_norm(Arithmetic& ops, A square, index_t channels, Element const& x) {
  constexpr A least = static_cast<A>(sizeof(A) == sizeof(double) ? 0x1p-900 : 0x1p-80);
  A const greatest = greatest_number<A>();
  if (!(square < least || square > greatest)) return square_root(ops, square);
  A largest(0), sum(0);
  for (index_t c = 0; c < channels; ++c) {
    A const element = x(c), magnitude = element < A(0) ? -element : element;
    if (magnitude > largest) largest = magnitude;
  }
  if (largest == A(0) || largest > greatest) return largest;
  for (index_t c = 0; c < channels; ++c) {
    A const part = ops.divide(x(c), largest);
    sum = ops.fused_multiply_add(part, part, sum);
  }
  A const norm = ops.fused_multiply_add(largest, square_root(ops, sum), A(0));
  return norm > greatest ? greatest : norm;
}

// The divisor of a row of random_fourier, its norm and the floor; and the row's factor, 0 where the
// divisor is no normal number.
template <class A, class Arithmetic>
SLICESORT_HD_INLINE A fourier_divisor(Arithmetic& ops, A norm, A floor) {
  return ops.fused_multiply_add(norm, A(1), floor);
}
template <class A, class Arithmetic>
SLICESORT_HD_INLINE A fourier_scale(Arithmetic& ops, A norm, A floor) {
  A const by = fourier_divisor(ops, norm, floor);
  return by < least_normal<A>() ? A(0) : ops.divide(A(1), by);
}

// The cosine and sine of cosine_reweighted in a row: of pi (i + 1) / (2 L).
template <class A>
struct row_angle {
  A cosine, sine;
};
template <class A, class Arithmetic>
SLICESORT_HD_INLINE row_angle<A> angle_of_row(Arithmetic& ops, index_t row, index_t length) {
  using math = feature_math<single_numbers<Arithmetic, double>>;
  double const part = ops.divide(static_cast<double>(row + 1), static_cast<double>(2 * length));
  single_numbers<Arithmetic, double> const numbers{ops};
  auto const at = math::sincos(numbers, math::product(numbers, part, 3.14159265358979323846));
  return {static_cast<A>(at.cosine), static_cast<A>(at.sine)};
}

// Dot products of rows, and sums of rows, are formed in so many parts: part l has the elements at
// l, l + 16, l + 32, .. in order; then the upper half of the parts is added to the lower, until one
// is left.
inline constexpr int row_parts = 16;

SLICESORT_DETAIL_END
