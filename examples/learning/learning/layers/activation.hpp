// SPDX-License-Identifier: Apache-2.0
// Activations and their derivatives, in loops that compilers vectorize.
#pragma once

#include "learning/context.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace learning {

/// relu, gelu as x Phi(x) (torch, Paramixer), its tanh approximation (JAX's default: the Long Range
/// Arena), and silu (MEGA).
enum class activation { relu, gelu, gelu_tanh, silu };

/// Returns exp(x) for x <= 0. In float the error is 2 ulp, and results below exp(-87) are 0.
inline double exp_nonpositive(double x) { return std::exp(x); }
inline float exp_nonpositive(float x) {
  constexpr float log2_e = 1.44269504f, high = 0.693359375f, low = -2.12194440e-4f;
  constexpr float smallest = -87.0f, to_integer = 12582912.0f;  // 1.5 * 2^23
  float const bounded = x < smallest ? smallest : x;
  float const shifted = bounded * log2_e + to_integer;
  float const n = shifted - to_integer;
  float const r = (bounded - n * high) - n * low;
  float const p =
      1 + r * (1 + r * (0.5f + r * (1.66666667e-1f +
                                    r * (4.16649e-2f + r * (8.3330e-3f + r * 1.3937e-3f)))));
  std::uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127u) << 23;  // the low bits of `shifted` are n
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return x < smallest ? 0 : p * power;
}

/// Returns Phi(x) of the normal distribution, given exp(-x^2 / 2). In float the error is 1e-7
/// (Abramowitz and Stegun, 7.1.26).
inline double normal_cdf(double x, double) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
inline float normal_cdf(float x, float gaussian) {
  constexpr float p = 0.3275911f * 0.70710678f;
  float const t = 1 / (1 + p * std::fabs(x));
  float const tail =
      0.5f * gaussian * t *
      (0.254829592f +
       t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return x < 0 ? tail : 1 - tail;
}

template <class T>
struct value_and_slope {
  T value, slope;
};

template <class T>
value_and_slope<T> relu(T x) {
  return {x > 0 ? x : T(0), x > 0 ? T(1) : T(0)};
}
template <class T>
value_and_slope<T> gelu(T x) {
  constexpr T density = T(0.39894228040143267794);  // 1 / sqrt(2 pi)
  T const gaussian = exp_nonpositive(-x * x / 2);
  T const p = normal_cdf(x, gaussian);
  return {x * p, p + x * density * gaussian};
}
// 1 / (1 + exp(-u)), computed from exp(-|u|).
template <class T>
value_and_slope<T> logistic(T u) {
  T const e = exp_nonpositive(-std::fabs(u));
  return {(u < 0 ? e : T(1)) / (1 + e), e / ((1 + e) * (1 + e))};
}
template <class T>
value_and_slope<T> gelu_tanh(T x) {
  constexpr T scale = T(1.59576912160573071176), cubic = T(0.044715);  // 2 sqrt(2 / pi)
  auto const p = logistic(scale * x * (1 + cubic * x * x));            // (1 + tanh(u / 2)) / 2
  return {x * p.value, p.value + x * p.slope * scale * (1 + 3 * cubic * x * x)};
}
template <class T>
value_and_slope<T> silu(T x) {
  auto const p = logistic(x);
  return {x * p.value, p.value + x * p.slope};
}

/// Computes `y = f(x)` and overwrites x with the derivatives.
template <class T>
void activate(context<T>& c, activation f, matrix<T> x, matrix<T> y) {
  c.parallel_for_rows(x, [&](index_t first, index_t count) {
    auto const apply = [&](auto function) {
      for (index_t r = first; r < first + count; ++r) {
        T *const x_row = x.row(r), *const y_row = y.row(r);
        for (index_t i = 0; i < x.columns; ++i) {
          auto const result = function(x_row[i]);
          y_row[i] = result.value, x_row[i] = result.slope;
        }
      }
    };
    if (f == activation::relu)
      apply([](T v) { return relu(v); });
    else if (f == activation::gelu)
      apply([](T v) { return gelu(v); });
    else if (f == activation::gelu_tanh)
      apply([](T v) { return gelu_tanh(v); });
    else
      apply([](T v) { return silu(v); });
  });
}

}  // namespace learning
