// SPDX-License-Identifier: Apache-2.0
// Elementary functions of the feature maps compared with long double: sine and cosine, exp, square
// root, the angle of a row, and the divisor.
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/numbers.hpp"

#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace support;
namespace ss = slicesort;

namespace {

struct plain_arithmetic {
  template <class A>
  A fused_multiply_add(A a, A b, A c) const {
    return std::fma(a, b, c);
  }
  template <class A>
  A divide(A a, A b) const {
    return a / b;
  }
};

template <class A>
using scalar_ops = ss::detail::scalar_values<plain_arithmetic const, A>;
template <class A>
using math = ss::detail::feature_math<scalar_ops<A>>;

constexpr plain_arithmetic arithmetic;
// Distance from 1 to the next larger number.
template <class A>
constexpr long double epsilon = std::numeric_limits<A>::epsilon();

// Error of sine and cosine, and the amount by which they exceed 1.
struct sincos_errors {
  long double error = 0, beyond_one = 0;
};
template <class A>
sincos_errors measure_sincos(A u) {
  auto const actual = math<A>::sincos(scalar_ops<A>{arithmetic}, u);
  long double const exact = u;
  return {max_or_nan(std::fabs(actual.sine - std::sin(exact)),
                     std::fabs(actual.cosine - std::cos(exact))),
          max_or_nan(std::fabs(actual.sine), std::fabs(actual.cosine)) - 1.0L};
}
// Calls f(angle) for angles of either sign up to `limit`, with uniform exponents, and for the
// values nearest to multiples of pi / 4.
template <class A, class F>
void for_each_angle(double limit, F const& f) {
  random_stream random(1);
  for (int i = 0; i < 200'000; ++i) {
    double const magnitude = limit * std::pow(2.0, -40 * random.unit());
    f(static_cast<A>(random.below(2) == 0 ? magnitude : -magnitude));
  }
  for (int i = 0; i < 200'000; ++i) {
    auto const eighths = static_cast<long double>(
        random.below(static_cast<std::uint64_t>(limit / 0.7853981633974483)));
    auto const near = static_cast<A>(eighths * std::acos(-1.0L) / 4);
    f(near), f(std::nextafter(near, A(0))), f(-near);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("sine and cosine", A, float, double) {
  long double error = 0, beyond_one = 0;
  for_each_angle<A>(sizeof(A) == 4 ? 1e6 : 1e9, [&](A u) {
    sincos_errors const errors = measure_sincos(u);
    error = max_or_nan(error, errors.error);
    beyond_one = max_or_nan(beyond_one, errors.beyond_one);
  });
  CHECK(error <= 2 * epsilon<A>);
  CHECK(beyond_one <= epsilon<A>);
  MESSAGE("sine and cosine are off by at most " << static_cast<double>(error / epsilon<A>)
                                                << " units of the last place of 1");
  auto const at_0 = math<A>::sincos(scalar_ops<A>{arithmetic}, A(0));
  CHECK(at_0.sine == A(0));
  CHECK(at_0.cosine == A(1));
}

// The remainder is small and must still be accurate to the last bit.
TEST_CASE_TEMPLATE("sine near multiples of pi", A, float, double) {
  long double const half_turn = std::acos(-1.0L);
  long double max_error = 0;
  for (std::int64_t i = 1; i < 200'000; ++i) {
    std::int64_t const half_turns = sizeof(A) == 4 ? i : i * 1'000'003;
    A const u = static_cast<A>(static_cast<long double>(half_turns) * half_turn);
    long double const exact = std::sin(static_cast<long double>(u));
    if (std::fabs(exact) > 0x1p-10L) continue;
    auto const actual = math<A>::sincos(scalar_ops<A>{arithmetic}, u);
    max_error = max_or_nan(max_error, std::fabs((actual.sine - exact) / exact));
  }
  CAPTURE(max_error);
  CHECK(max_error <= 4 * epsilon<A>);
}

TEST_CASE_TEMPLATE("sine and cosine are at most 1", A, float, double) {
  random_stream random(2);
  number_format const format = format_of<A>();
  auto const is_bounded = [](A u) {
    auto const actual = math<A>::sincos(scalar_ops<A>{arithmetic}, u);
    return std::fabs(actual.sine) <= 1 + epsilon<A> && std::fabs(actual.cosine) <= 1 + epsilon<A>;
  };
  int out_of_bounds = 0;
  for (int i = 0; i < 200'000; ++i) {
    auto const bits = random.bits() & format.mask();
    if ((bits & ~format.sign()) < format.infinity())
      out_of_bounds += !is_bounded(from_bits<A>(bits));
  }
  CHECK(out_of_bounds == 0);
  CHECK(is_bounded(std::numeric_limits<A>::max()));
  CHECK(is_bounded(std::numeric_limits<A>::denorm_min()));
#if !defined(__FAST_MATH__)
  auto const nan_result =
      math<A>::sincos(scalar_ops<A>{arithmetic}, std::numeric_limits<A>::quiet_NaN());
  CHECK(decode(nan_result.sine).kind == number_class::nan);
  CHECK(decode(nan_result.cosine).kind == number_class::nan);
#endif
}

TEST_CASE_TEMPLATE("exp of non-positive numbers", A, float, double) {
  random_stream random(3);
  auto const exponential = [](A x) { return math<A>::exponential(scalar_ops<A>{arithmetic}, x); };
  long double const lowest = std::log(static_cast<long double>(std::numeric_limits<A>::min()));
  long double error = 0;
  for (int i = 0; i < 200'000; ++i) {
    auto const x = static_cast<A>((lowest + 0.7L) * std::pow(random.unit(), 4));
    long double const expected = std::exp(static_cast<long double>(x));
    // Error in units of the result's last place.
    error =
        max_or_nan(error, std::fabs(exponential(x) - expected) /
                              std::ldexp(epsilon<A>, std::ilogb(static_cast<double>(expected))));
  }
  CHECK(error <= 2);
  CHECK(exponential(A(0)) == A(1));
  CHECK(exponential(-A(0)) == A(1));
  for (A far :
       {static_cast<A>(1.2L * lowest), static_cast<A>(-1e30), std::numeric_limits<A>::lowest()})
    CHECK(exponential(far) == A(0));
  // Near the smallest normal number, the result must be normal or 0.
  int subnormal = 0;
  for (int i = -500; i <= 500; ++i) {
    A const near = exponential(static_cast<A>(lowest * (1 + 1e-5L * i)));
    subnormal += near != A(0) && near < std::numeric_limits<A>::min();
  }
  CHECK(subnormal == 0);
#if !defined(__FAST_MATH__)
  CHECK(exponential(-std::numeric_limits<A>::infinity()) == A(0));
  CHECK(decode(exponential(std::numeric_limits<A>::quiet_NaN())).kind == number_class::nan);
#endif
}

TEST_CASE_TEMPLATE("square root", A, float, double) {
  random_stream random(4);
  number_format const format = format_of<A>();
  long double error = 0;
  auto const check = [&](A x) {
    long double const expected = std::sqrt(static_cast<long double>(x));
    error =
        max_or_nan(error, std::fabs(ss::detail::square_root(arithmetic, x) - expected) /
                              std::ldexp(epsilon<A>, std::ilogb(static_cast<double>(expected))));
  };
  for (int i = 0; i < 200'000; ++i) {
    std::uint64_t const bits = random.bits() & format.mask() & ~format.sign();
    if (bits < format.infinity() && bits > format.fraction_mask()) check(from_bits<A>(bits));
  }
  for (int i = 1; i < 1000; ++i) check(static_cast<A>(i * i));
  check(std::numeric_limits<A>::min());
  check(std::numeric_limits<A>::max());
  CHECK(error <= 1);
  CHECK(same_bits(ss::detail::square_root(arithmetic, A(0)), A(0)));
#if !defined(__FAST_MATH__)
  A const infinite = std::numeric_limits<A>::infinity();
  CHECK(ss::detail::square_root(arithmetic, infinite) == infinite);
  A const nan = std::numeric_limits<A>::quiet_NaN();
  CHECK(decode(ss::detail::square_root(arithmetic, nan)).kind == number_class::nan);
#endif
}

TEST_CASE_TEMPLATE("the angle of a row", A, float, double) {
  long double error = 0;
  for (ss::index_t length : {1, 2, 7, 64, 1000, 1'000'003})
    for (ss::index_t row = 0; row < length; row += std::max<ss::index_t>(1, length / 777)) {
      auto const actual = ss::detail::angle_of_row<A>(arithmetic, row, length);
      long double const angle = std::acos(-1.0L) * static_cast<long double>(row + 1) /
                                static_cast<long double>(2 * length);
      error = max_or_nan(error, max_or_nan(std::fabs(actual.cosine - std::cos(angle)),
                                           std::fabs(actual.sine - std::sin(angle))));
    }
  CHECK(error <= 3 * epsilon<A>);
}

TEST_CASE_TEMPLATE("divisors", A, float, double) {
  using config = ss::detail::divisor_config;
  auto const evaluate = [](config const& divisor, double d) {
    return ss::detail::evaluate_divisor(arithmetic, divisor, static_cast<A>(d));
  };
  auto const is_equal = [](ss::detail::divisor_terms<A> actual, double inverse, double slope) {
    return same_bits(actual.inverse, static_cast<A>(inverse)) &&
           same_bits(actual.slope, static_cast<A>(slope));
  };
  config const none = config::make(ss::divisor::none{}),
               sum_plus = config::make(ss::divisor::sum_plus{2}),
               at_least = config::make(ss::divisor::at_least{2});
  CHECK(is_equal(evaluate(none, 0), 1, 0));
  CHECK(is_equal(evaluate(none, 8), 1, 0));
  CHECK(is_equal(evaluate(sum_plus, 6), 0.125, 0.125));
  CHECK(is_equal(evaluate(sum_plus, -4), -0.5, -0.5));
  CHECK(is_equal(evaluate(sum_plus, -2), 0, 0));
  CHECK(is_equal(evaluate(at_least, 4), 0.25, 0.25));
  CHECK(is_equal(evaluate(at_least, 2), 0.5, 0));  // not above eps
  CHECK(is_equal(evaluate(at_least, 0), 0.5, 0));
  CHECK(is_equal(evaluate(config::make(ss::divisor::sum_plus{0}), 0), 0, 0));
  CHECK(is_equal(evaluate(config::make(ss::divisor::at_least{0}), 0), 0, 0));
}
