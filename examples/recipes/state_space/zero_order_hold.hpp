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
RECIPES_HD inline complex_number exponential(complex_number a) {
  double const size = std::exp(a.re);
  return {size * std::cos(a.im), size * std::sin(a.im)};
}
// exp(a) - 1, without cancellation for small a.
RECIPES_HD inline complex_number exponential_minus_1(complex_number a) {
  double const half = std::sin(a.im / 2), size = std::exp(a.re);
  return {std::expm1(a.re) - 2 * size * half * half, size * std::sin(a.im)};
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
