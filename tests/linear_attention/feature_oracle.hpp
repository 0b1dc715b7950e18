// SPDX-License-Identifier: Apache-2.0
// Features of linear attention and their gradients by definition, in long double, with bounds on
// rounding errors.
//
// - A product with a row of w sums D terms. A scale rounds each term twice more.
// - |x| is the root of a sum of D squares: its error is at most gamma(D + 4) |x|.
// - The angle of cosine_reweighted takes five roundings and is at most pi / 2.
// - Where a derivative jumps at 0 and the argument is 0 within its error, both one-sided
// derivatives are accepted.
#pragma once

#include "estimate.hpp"
#include "problem.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace support {

// A row of q or k, its position, and the maximum that is subtracted from its exponents.
struct oracle_row {
  std::vector<long double> x;
  index_t index = 0, length = 0;  // length: the larger number of valid rows of q and k
  estimate maximum;               // random_exp
};

// Feature map of one head.
class feature_oracle {
 public:
  using vector = std::vector<long double>;

  feature_oracle(any_feature feature, roundings r, index_t channels, index_t w_rows, vector w)
      : feature_(std::move(feature)),
        roundings_(r),
        channels_(channels),
        w_(std::move(w)),
        w_rows_(w_rows) {}

  // Returns the largest <w_f, z> of a row.
  estimate maximum(vector const& x) const {
    estimate max;
    for (index_t f = 0; f < w_rows_; ++f) {
      estimate const wz = product(f, x, inverse_fourth_root());
      if (f == 0 || wz.value > max.value) max.value = wz.value;
      max.error = std::fmax(max.error, wz.error);
    }
    max.size = std::fabs(max.value) + max.error;
    return max;
  }

  estimates map(oracle_row const& row) const {
    return std::visit([&](auto const& feature) { return map(feature, row); }, feature_);
  }
  // Returns the gradient of a row, given the gradient of its features. Adds the row's share to dw.
  estimates backward(oracle_row const& row, estimates const& dphi, estimates& dw) const {
    return std::visit([&](auto const& feature) { return backward(feature, row, dphi, dw); },
                      feature_);
  }

 private:
  static estimate exact(long double x) { return estimate::exact(x); }
  long double w(index_t f, index_t c) const {
    return w_[static_cast<std::size_t>(f * channels_ + c)];
  }
  template <class List>
  static auto& at(List& list, index_t i) {
    return list[static_cast<std::size_t>(i)];
  }
  // n^(-1/2), or 1 if n is 0.
  static long double inverse_root(index_t n) {
    return n > 0 ? 1 / std::sqrt(static_cast<long double>(n)) : 1;
  }
  // channels^(-1/4)
  long double inverse_fourth_root() const { return std::sqrt(inverse_root(channels_)); }
  long double scale(ss::feature::random_relu const& f) const {
    return f.scale ? *f.scale : inverse_fourth_root();
  }
  long double scale(ss::feature::random_fourier const& f) const {
    return f.scale ? *f.scale : inverse_root(w_rows_);
  }
  // Returns <w_f, scale x>.
  estimate product(index_t f, vector const& x, long double scale) const {
    estimate sum;
    for (index_t c = 0; c < channels_; ++c) sum += exact(scale * w(f, c) * at(x, c));
    return roundings_.rounded(roundings_.with_rounded_operands(sum, 1), channels_ + 3);
  }

  estimates map(ss::feature::elu_plus_one, oracle_row const& row) const {
    estimates phi;
    for (long double x : row.x)
      phi.push_back(x > 0 ? roundings_.rounded(exact(x + 1), 1) : roundings_.exponential(exact(x)));
    return phi;
  }
  estimates backward(ss::feature::elu_plus_one, oracle_row const& row, estimates const& dphi,
                     estimates&) const {
    estimates dx = dphi;
    for (index_t c = 0; c < channels_; ++c)
      if (at(row.x, c) <= 0)
        at(dx, c) =
            roundings_.rounded(at(dphi, c) * roundings_.exponential(exact(at(row.x, c))), 1);
    return dx;
  }

  estimates map(ss::feature::relu const& f, oracle_row const& row) const {
    estimates phi;
    for (long double x : row.x)
      phi.push_back(roundings_.rounded(exact(std::fmax(x, 0) + f.eps), 2));
    return phi;
  }
  estimates backward(ss::feature::relu const&, oracle_row const& row, estimates const& dphi,
                     estimates&) const {
    estimates dx = dphi;
    for (index_t c = 0; c < channels_; ++c)
      if (at(row.x, c) <= 0) at(dx, c) = {};
    return dx;
  }

  std::pair<estimate, estimate> cosine_and_sine(oracle_row const& row) const {
    long double const angle = std::acos(-1.0L) * static_cast<long double>(row.index + 1) /
                              static_cast<long double>(2 * row.length);
    estimate const bounded_angle = roundings_.rounded(exact(angle), 5);
    return {roundings_.sine_or_cosine(std::cos(angle), bounded_angle),
            roundings_.sine_or_cosine(std::sin(angle), bounded_angle)};
  }
  estimates map(ss::feature::cosine_reweighted, oracle_row const& row) const {
    auto const [cosine, sine] = cosine_and_sine(row);
    estimates phi;
    for (estimate const& factor : {cosine, sine})
      for (long double x : row.x) phi.push_back(roundings_.rounded(factor * std::fmax(x, 0.0L), 1));
    return phi;
  }
  estimates backward(ss::feature::cosine_reweighted, oracle_row const& row, estimates const& dphi,
                     estimates&) const {
    auto const [cosine, sine] = cosine_and_sine(row);
    estimates dx(row.x.size());
    for (index_t c = 0; c < channels_; ++c)
      if (at(row.x, c) > 0)
        at(dx, c) = roundings_.rounded(at(dphi, c) * cosine + at(dphi, channels_ + c) * sine, 2);
    return dx;
  }

  // exp(<w_f, z> - |z|^2 / 2 - m)
  estimate exponential_of(index_t f, oracle_row const& row) const {
    estimate half_square;
    for (long double x : row.x)
      half_square += exact(inverse_fourth_root() * inverse_fourth_root() * x * x / 2);
    half_square = roundings_.rounded(half_square, channels_ + 5);
    estimate const wz = product(f, row.x, inverse_fourth_root());
    return roundings_.exponential(roundings_.rounded(wz + -half_square + -row.maximum, 3));
  }
  estimates map(ss::feature::random_exp const& feature, oracle_row const& row) const {
    estimates phi;
    for (index_t f = 0; f < w_rows_; ++f)
      phi.push_back(roundings_.rounded(
          (exponential_of(f, row) + exact(feature.eps)) * inverse_root(w_rows_), 4));
    return phi;
  }
  estimates backward(ss::feature::random_exp const&, oracle_row const& row, estimates const& dphi,
                     estimates& dw) const {
    estimates dwz;
    estimate total;
    for (index_t f = 0; f < w_rows_; ++f) {
      dwz.push_back(
          roundings_.rounded(at(dphi, f) * exponential_of(f, row) * inverse_root(w_rows_), 3));
      total += dwz.back();
    }
    estimates dx(row.x.size());
    for (index_t c = 0; c < channels_; ++c) {
      long double const z = inverse_fourth_root() * at(row.x, c);
      estimate dz = -total * z;
      for (index_t f = 0; f < w_rows_; ++f) {
        dz += roundings_.with_rounded_operands(at(dwz, f) * w(f, c), 1);
        at(dw, f * channels_ + c) += roundings_.with_rounded_operands(at(dwz, f) * z, 2);
      }
      at(dx, c) = roundings_.rounded(dz * inverse_fourth_root(), w_rows_ + 6);
    }
    return dx;
  }

  estimates map(ss::feature::random_relu const& feature, oracle_row const& row) const {
    estimates phi;
    for (index_t f = 0; f < w_rows_; ++f) {
      estimate scaled_wz = product(f, row.x, scale(feature));
      scaled_wz.value = std::fmax(scaled_wz.value, 0.0L);
      phi.push_back(roundings_.rounded(scaled_wz + exact(feature.eps), 2));
    }
    return phi;
  }
  estimates backward(ss::feature::random_relu const& feature, oracle_row const& row,
                     estimates const& dphi, estimates& dw) const {
    estimates dx(row.x.size());
    for (index_t f = 0; f < w_rows_; ++f) {
      estimate const scaled_wz = product(f, row.x, scale(feature));
      bool const is_unclear = scaled_wz.error > 0 && std::fabs(scaled_wz.value) <= scaled_wz.error;
      if (scaled_wz.value <= 0 && !is_unclear) continue;
      estimate dwz = roundings_.rounded(at(dphi, f) * scale(feature), 2);
      if (is_unclear) dwz = {0, dwz.size, dwz.size};
      for (index_t c = 0; c < channels_; ++c) {
        at(dx, c) += roundings_.with_rounded_operands(dwz * w(f, c), 1);
        at(dw, f * channels_ + c) += roundings_.with_rounded_operands(dwz * at(row.x, c), 2);
      }
    }
    for (estimate& x : dx) x = roundings_.rounded(x, w_rows_ + 3);
    return dx;
  }

  // Returns 1 / (|x| + floor).
  estimate reciprocal_norm(ss::feature::random_fourier const& feature, vector const& x) const {
    return roundings_.reciprocal(roundings_.rounded(exact(norm(x) + feature.floor), channels_ + 7));
  }
  static long double norm(vector const& x) {
    long double squares = 0;
    for (long double element : x) squares += element * element;
    return std::sqrt(squares);
  }
  estimate argument(index_t f, estimate const& reciprocal, vector const& x) const {
    return roundings_.rounded(product(f, x, 1) * reciprocal, 2);
  }
  estimates map(ss::feature::random_fourier const& feature, oracle_row const& row) const {
    estimate const reciprocal = reciprocal_norm(feature, row.x);
    estimates sines, phi;
    for (index_t f = 0; f < w_rows_; ++f) {
      estimate const wz = argument(f, reciprocal, row.x);
      phi.push_back(roundings_.rounded(
          roundings_.sine_or_cosine(std::cos(wz.value), wz) * scale(feature), 2));
      sines.push_back(roundings_.rounded(
          roundings_.sine_or_cosine(std::sin(wz.value), wz) * scale(feature), 2));
    }
    sines.insert(sines.end(), phi.begin(), phi.end());
    return sines;
  }
  // With s = 1 / (|x| + floor) and z = s x: dx = s dz - s^2 <dz, x> x / |x|.
  estimates backward(ss::feature::random_fourier const& feature, oracle_row const& row,
                     estimates const& dphi, estimates& dw) const {
    estimate const s = reciprocal_norm(feature, row.x);
    estimates dz(row.x.size());
    for (index_t f = 0; f < w_rows_; ++f) {
      estimate const wz = argument(f, s, row.x);
      estimate const dwz = roundings_.rounded(
          (at(dphi, f) * roundings_.sine_or_cosine(std::cos(wz.value), wz) +
           -at(dphi, w_rows_ + f) * roundings_.sine_or_cosine(std::sin(wz.value), wz)) *
              scale(feature),
          4);
      for (index_t c = 0; c < channels_; ++c) {
        at(dz, c) += roundings_.with_rounded_operands(dwz * w(f, c), 1);
        at(dw, f * channels_ + c) += roundings_.with_rounded_operands(dwz * (s * at(row.x, c)), 2);
      }
    }
    estimate dot_with_row;
    for (index_t c = 0; c < channels_; ++c) dot_with_row += at(dz, c) * at(row.x, c);
    long double const norm_of_x = norm(row.x);
    estimates dx;
    for (index_t c = 0; c < channels_; ++c) {
      estimate sum = s * at(dz, c);
      if (norm_of_x > 0) sum += -(s * s * dot_with_row * (at(row.x, c) / norm_of_x));
      dx.push_back(roundings_.rounded(sum, w_rows_ + 2 * channels_ + 16));
    }
    return dx;
  }

  any_feature feature_;
  roundings roundings_;
  index_t channels_;
  vector w_;
  index_t w_rows_;
};

}  // namespace support
