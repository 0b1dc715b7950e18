// SPDX-License-Identifier: Apache-2.0
// Reference values with bounds on their rounding errors.
//
// A computed polynomial is a sum of terms. Each term goes through at most n roundings, for any
// order of summation. Its error is at most gamma(n) = n u / (1 - n u) times the sum of the absolute
// values of the terms, where u is half a unit in the last place. An estimate therefore holds the
// value, the sum of the absolute values of its terms, and the error it inherits; `rounded(x, n)`
// adds the error of n roundings.
#pragma once

#include "support/numbers.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/products.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <vector>

namespace support {

struct estimate {
  long double value = 0;
  long double size = 0;  // sum of |term| with errors; at least |value|
  long double error = 0;

  static estimate exact(long double x) { return {x, std::fabs(x), 0}; }

  estimate& operator+=(estimate const& b) {
    value += b.value, size += b.size, error += b.error;
    return *this;
  }
  friend estimate operator+(estimate a, estimate const& b) { return a += b; }
  friend estimate operator*(estimate const& a, estimate const& b) {
    return {a.value * b.value, a.size * b.size, a.error * b.size + a.size * b.error};
  }
  friend estimate operator*(estimate const& a, long double b) { return a * exact(b); }
  estimate operator-() const { return {-value, size, error}; }
};
using estimates = std::vector<estimate>;

// A result and a bound on its error.
struct bounded {
  long double value = 0, error = 0;
};

// Unit roundoffs of the accumulator, of the operands of products, and of results.
class roundings {
 public:
  template <class T>
  static roundings make(slicesort::products multiply = slicesort::products::exact) {
    constexpr number_format element = format_of<T>();
    constexpr number_format accumulator = format_of<slicesort::detail::accumulator_t<T>>();
    roundings result;
    result.unit_ = std::ldexp(1.0L, -(accumulator.fraction_bits + 1));
    result.tiny_ = 4 * std::ldexp(1.0L, 1 - accumulator.bias());
    if (element.fraction_bits != accumulator.fraction_bits) {
      result.element_unit_ = std::ldexp(1.0L, -(element.fraction_bits + 1));
      result.element_tiny_ = std::ldexp(1.0L, -(element.bias() + element.fraction_bits));
      if (multiply == slicesort::products::native)
        result.operand_unit_ = std::ldexp(1.0L, -11);  // of TF32
    }
    return result;
  }
  long double unit() const { return unit_; }

  // Returns gamma(n), with a margin for the roundings of long double.
  long double gamma(slicesort::index_t n) const {
    long double const nu = 1.002L * static_cast<long double>(n) * unit_;
    return nu / (1 - nu);
  }
  // Returns the estimate after n roundings, with a margin for underflow.
  estimate rounded(estimate const& x, slicesort::index_t n) const {
    if (x.size == 0) return x;
    long double const error = x.error + gamma(n) * x.size + tiny_;
    return {x.value, std::fabs(x.value) + error, error};
  }
  // Adds the error of a sum of products with n rounded operands per product.
  estimate with_rounded_operands(estimate x, slicesort::index_t n) const {
    long double const error = static_cast<long double>(n) * 1.002L * operand_unit_ * x.size;
    x.error += error, x.size += error;
    return x;
  }
  // Returns exp(x), accurate to two units in the last place, plus the propagated error of the
  // argument. Subnormal results flush to 0.
  estimate exponential(estimate const& x) const {
    long double const value = std::exp(x.value), growth = std::exp(std::fmin(x.error, 9000.0L));
    long double const error = value * (growth * (1 + 4 * unit_) - 1) + tiny_;
    return {value, value + error, error};
  }
  // Returns a sine or cosine, given its exact value, accurate to two units in the last place of 1.
  estimate sine_or_cosine(long double exact, estimate const& argument) const {
    long double const error = argument.error + 4 * unit_;
    return {exact, std::fabs(exact) + error, error};
  }
  // Returns 1 / x: unbounded if x may be 0 within its error, 0 if x is exactly 0.
  estimate reciprocal(estimate const& x) const {
    if (x.value == 0 && x.error == 0) return {};
    long double const min_magnitude = std::fabs(x.value) - x.error;
    if (!(min_magnitude > 0)) return {0, 1e3000L, 1e3000L};
    long double const value = 1 / x.value;
    return rounded({value, std::fabs(value), x.error / (std::fabs(x.value) * min_magnitude)}, 1);
  }

  // Rounds to the element type; in mode accumulate, first adds `before`.
  template <class T>
  bounded round_result(estimate const& x, slicesort::grad_mode mode, T before) const {
    bool const accumulates = mode == slicesort::grad_mode::accumulate;
    long double const sum = x.value + (accumulates ? decode(before).value : 0);
    if (x.size == 0) return {sum, 0};
    long double const error = x.error + (accumulates ? unit_ * (std::fabs(sum) + x.error) : 0);
    return {sum, error + element_unit_ * (std::fabs(sum) + error) + element_tiny_};
  }

 private:
  long double unit_ = 0, tiny_ = 0;                  // of the accumulator; tiny_ bounds underflow
  long double element_unit_ = 0, element_tiny_ = 0;  // of 16-bit results
  long double operand_unit_ = 0;                     // of operands of native products
};

}  // namespace support
