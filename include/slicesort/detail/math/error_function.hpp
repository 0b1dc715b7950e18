// SPDX-License-Identifier: Apache-2.0
// Bit-reproducible error function, and distribution function and density of a normal distribution
// (error_function.inl). erf(x) is x plus x times a polynomial in x^2 if |x| < 1, else
// 1 - exp(log erfc(|x|)), with a polynomial for the logarithm. Polynomials are minimax in the error
// of erf, which is up to an eighth of half a unit in the last place.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/elementary.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>

SLICESORT_DETAIL_BEGIN

template <class A>
struct erf_table;
template <>
struct erf_table<float> {
  static constexpr int inner_terms = 7, outer_terms = 7;
  static constexpr float limit = 3.95f;
};
template <>
struct erf_table<double> {
  static constexpr int inner_terms = 12, outer_terms = 18;
  static constexpr double limit = 5.95;
};

// Coefficients of (x^2)^k in erf(x) / x - 1 for |x| < 1, and of x^k in log(erfc(x)) for x in
// 1 .. limit.
template <class A>
SLICESORT_HD constexpr A erf_inner_coefficient(int k) {
  if constexpr (sizeof(A) == sizeof(float)) {
    constexpr float coefficients[] = {0.128379166f,   -0.37612626f,   0.112836003f,
                                      -0.0268544406f, 0.00518952915f, -0.00080207875f,
                                      7.88893885e-05f};
    return coefficients[k];
  } else {
    constexpr double coefficients[] = {
        0.12837916709551256,     -0.3761263890318355,     0.11283791670945242,
        -0.026866170643274574,   0.005223977607410646,    -0.0008548325989111778,
        0.00012055295303815381,  -1.4924744357313805e-05, 1.6447514064758057e-06,
        -1.6209149383730322e-07, 1.3722866055461813e-08,  -7.800990931345158e-10};
    return coefficients[k];
  }
}
template <class A>
SLICESORT_HD constexpr A erf_outer_coefficient(int k) {
  if constexpr (sizeof(A) == sizeof(float)) {
    constexpr float coefficients[] = {-0.000353481242f, -1.12704098f,  -0.638224006f,
                                      -0.103038877f,    0.0218060575f, -0.00293979724f,
                                      0.000185593919f};
    return coefficients[k];
  } else {
    constexpr double coefficients[] = {
        -5.134336116934337e-07,  -1.1283739899683323,     -0.6366440624081344,
        -0.10270227099092455,    0.018988008801708166,    0.00041357932274854097,
        -0.0019189870462968518,  0.0007730739119617839,   -0.00013657201064058423,
        -1.9515781002930834e-05, 2.2530445720670173e-05,  -8.578140407168309e-06,
        2.1146722019504583e-06,  -3.6954684590795364e-07, 4.59313357196593e-08,
        -3.8898941293476e-09,    2.020304471466665e-10,   -4.86507347787219e-12};
    return coefficients[k];
  }
}

// Constants of a normal distribution: factor * s + offset = (s - mean) / (sqrt(2) deviation), and
// the largest density.
template <class A>
struct normal_constants {
  A factor, offset, height;

  SLICESORT_HD static normal_constants make(double mean, double deviation) {
    double const factor = 0.70710678118654752 / deviation;
    return {static_cast<A>(factor), static_cast<A>(-mean * factor),
            static_cast<A>(0.39894228040143268 / deviation)};
  }
};

#define SLICESORT_MATH_INLINE SLICESORT_HD_INLINE
// clang-format off
#include <slicesort/detail/math/error_function.inl>
// clang-format on
#undef SLICESORT_MATH_INLINE

template <class A>
SLICESORT_HD_INLINE A erf(A x) {
  library_arithmetic<A> arithmetic;
  return error_function<scalar_values<library_arithmetic<A>, A>>::erf({arithmetic}, x);
}

// Distribution function of a normal distribution, and its slope, the density.
template <class A>
struct normal_distribution {
  normal_constants<A> constants;

  SLICESORT_HD normal_distribution(double mean, double deviation)
      : constants(normal_constants<A>::make(mean, deviation)) {}

  SLICESORT_HD_INLINE A value(A score) const {
    library_arithmetic<A> arithmetic;
    return functions::distribution({arithmetic}, constants, score);
  }
  SLICESORT_HD_INLINE A slope(A score) const {
    library_arithmetic<A> arithmetic;
    return functions::density({arithmetic}, constants, score);
  }

 private:
  using functions = error_function<scalar_values<library_arithmetic<A>, A>>;
};

SLICESORT_DETAIL_END
