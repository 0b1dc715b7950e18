// SPDX-License-Identifier: Apache-2.0
// Numbers of an oracle, each with how far from it roundings may lead.
//
// What is computed of a polynomial is the sum of its terms, each of which went through at most n
// roundings, in whatever order the sums are formed: it is off by gamma(n) = n u / (1 - n u) times
// the terms' absolute values, u half a unit of the last place. So an estimate has the value, the
// sum of the absolute values of its terms, and the error that comes from what it is formed of;
// `settled(n)` adds that of its roundings.
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
  long double size = 0;  // of the terms, with their errors: at least |value|
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

// A result, and the bound of its error.
struct bounded {
  long double value = 0, error = 0;
};

// The accumulator's roundings, those of operands of products, and those of results.
class roundings {
 public:
  template <class T>
  static roundings of(slicesort::products kind = slicesort::products::exact) {
    constexpr number_format element = format_of<T>();
    constexpr number_format accumulator = format_of<slicesort::detail::accumulator_t<T>>();
    roundings r;
    r.unit_ = std::ldexp(1.0L, -(accumulator.fraction_bits + 1));
    r.tiny_ = 4 * std::ldexp(1.0L, 1 - accumulator.bias());
    if (element.fraction_bits != accumulator.fraction_bits) {
      r.narrow_ = std::ldexp(1.0L, -(element.fraction_bits + 1));
      r.narrow_tiny_ = std::ldexp(1.0L, -(element.bias() + element.fraction_bits));
      if (kind == slicesort::products::native) r.operand_ = std::ldexp(1.0L, -11);  // of TF32
    }
    return r;
  }
  long double unit() const { return unit_; }

  // For the roundings of long double a little more.
  long double gamma(slicesort::index_t n) const {
    long double const nu = 1.002L * static_cast<long double>(n) * unit_;
    return nu / (1 - nu);
  }
  // After n roundings; what underflows is lost.
  estimate settled(estimate const& x, slicesort::index_t n) const {
    if (x.size == 0) return x;
    long double const error = x.error + gamma(n) * x.size + tiny_;
    return {x.value, std::fabs(x.value) + error, error};
  }
  // A sum of products of which n factors were rounded to be operands.
  estimate of_operands(estimate x, slicesort::index_t n) const {
    long double const error = static_cast<long double>(n) * 1.002L * operand_ * x.size;
    x.error += error, x.size += error;
    return x;
  }
  // exp: to two units in the last place, and 0 where that is no normal number. It takes over the
  // error of its argument.
  estimate exponential(estimate const& x) const {
    long double const value = std::exp(x.value), grown = std::exp(std::fmin(x.error, 9000.0L));
    long double const error = value * (grown * (1 + 4 * unit_) - 1) + tiny_;
    return {value, value + error, error};
  }
  // Sine or cosine, `of` the exact one: to two units in the last place of 1.
  estimate periodic(long double of, estimate const& argument) const {
    long double const error = argument.error + 4 * unit_;
    return {of, std::fabs(of) + error, error};
  }
  // 1 / x, of which nothing is known where x may be 0 and is not.
  estimate reciprocal(estimate const& x) const {
    if (x.value == 0 && x.error == 0) return {};
    long double const least = std::fabs(x.value) - x.error;
    if (!(least > 0)) return {0, 1e3000L, 1e3000L};
    long double const value = 1 / x.value;
    return settled({value, std::fabs(value), x.error / (std::fabs(x.value) * least)}, 1);
  }

  // A result as it is stored, added to `before` if it is.
  template <class T>
  bounded stored(estimate const& x, slicesort::grad_mode mode, T before) const {
    bool const adds = mode == slicesort::grad_mode::accumulate;
    long double const sum = x.value + (adds ? decode(before).value : 0);
    if (x.size == 0) return {sum, 0};
    long double const error = x.error + (adds ? unit_ * (std::fabs(sum) + x.error) : 0);
    return {sum, error + narrow_ * (std::fabs(sum) + error) + narrow_tiny_};
  }

 private:
  long double unit_ = 0, tiny_ = 0, narrow_ = 0, narrow_tiny_ = 0, operand_ = 0;
};

}  // namespace support
