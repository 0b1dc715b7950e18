// SPDX-License-Identifier: Apache-2.0
// Complex numbers, on the host and on a GPU, and the discretization of diagonal state spaces.
#pragma once

#include "../support.hpp"

#include <slicesort/tensor_view.hpp>

#include <cmath>

namespace recipes {

struct complex_number {
  double re, im;
};
RECIPES_HD inline complex_number operator+(complex_number a, complex_number b) {
  return {a.re + b.re, a.im + b.im};
}
RECIPES_HD inline complex_number operator*(double factor, complex_number a) {
  return {factor * a.re, factor * a.im};
}
RECIPES_HD inline complex_number operator*(complex_number a, complex_number b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
RECIPES_HD inline complex_number conjugate(complex_number a) { return {a.re, -a.im}; }
RECIPES_HD inline complex_number operator/(complex_number a, complex_number b) {
  return 1 / (b.re * b.re + b.im * b.im) * (a * conjugate(b));
}
// exp(i angle), by a Taylor series after reduction to at most pi / 4, with the same operations on
// the host and on a GPU.
RECIPES_HD inline complex_number unit(double angle) {
  constexpr double half_pi = 1.5707963267948966, half_pi_error = 6.123233995736766e-17;
  double const turns = std::rint(angle / half_pi);
  double const rest = std::fma(-turns, half_pi_error, std::fma(-turns, half_pi, angle));
  complex_number u{1, 0};
  for (int n = 18; n > 0; --n) u = {1 - rest / n * u.im, rest / n * u.re};
  double const quadrant = turns - 4 * std::floor(turns / 4);
  if (quadrant == 1) return {-u.im, u.re};
  if (quadrant == 2) return {-u.re, -u.im};
  if (quadrant == 3) return {u.im, -u.re};
  return u;
}
RECIPES_HD inline complex_number exponential(complex_number a) {
  return std::exp(a.re) * unit(a.im);
}
// exp(a) - 1, without cancellation for small a.
RECIPES_HD inline complex_number exponential_minus_1(complex_number a) {
  complex_number const half = unit(a.im / 2);
  double const twice = 2 * std::exp(a.re) * half.im;
  return {std::expm1(a.re) - twice * half.im, twice * half.re};
}

// Complex number i of a channel, whose parts are numbers 2 i and 2 i + 1 of `[1, numbers, 1,
// channels]`, as decaying_sum reads them.
template <class T>
RECIPES_HD complex_number load_complex(tensor4<T> const& numbers, index_t i, index_t channel) {
  return {to_double(numbers(0, 2 * i, 0, channel)), to_double(numbers(0, 2 * i + 1, 0, channel))};
}
template <class T>
RECIPES_HD void store_complex(tensor4<T> const& numbers, index_t i, index_t channel,
                              complex_number value) {
  numbers(0, 2 * i, 0, channel) = rounded<T>(value.re);
  numbers(0, 2 * i + 1, 0, channel) = rounded<T>(value.im);
}

// Discretization of the state ds/dt = rate * s + x, with x held for steps of size exp(log_step):
// s' = decay * s + gain * x. The rate is -exp(log_decay) + i frequency.
struct zero_order_hold {
  double step;
  complex_number rate, decay, gain;

  RECIPES_HD zero_order_hold(double log_step, double log_decay, double frequency)
      : step(std::exp(log_step)),
        rate{-std::exp(log_decay), frequency},
        decay(exponential(step * rate)),
        gain(exponential_minus_1(step * rate) / rate) {}

  struct gradients {
    double log_step, log_decay, frequency;
  };
  // Gradients of a complex number are those of its real and imaginary parts.
  RECIPES_HD gradients backward(complex_number ddecay, complex_number dgain) const {
    complex_number const dexponent =
        conjugate(decay) * (ddecay + dgain / conjugate(rate));  // of step * rate
    complex_number const drate = step * dexponent + -1 * (conjugate(gain / rate) * dgain);
    return {(conjugate(rate) * dexponent).re * step, drate.re * rate.re, drate.im};
  }
};

}  // namespace recipes
