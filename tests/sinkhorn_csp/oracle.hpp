// SPDX-License-Identifier: Apache-2.0
// Reference implementation of sinkhorn_csp (channel-wise sample permutation, relaxed by Sinkhorn's
// algorithm). Evaluates equation 8 of the CSP paper in long double, on matrices that are divided by
// their row and column sums. Computes gradients by dual numbers, and error bounds for results in T.
#pragma once

#include "support/buffers.hpp"
#include "support/numbers.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

using real = long double;

// Dual number: a value and its derivative.
struct dual {
  real value = 0, slope = 0;

  friend dual operator+(dual a, dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend dual operator*(dual a, dual b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend dual operator/(dual a, dual b) {
    real const quotient = a.value / b.value;
    return {quotient, (a.slope - quotient * b.slope) / b.value};
  }
};
inline dual exponential(dual a) {
  real const e = std::exp(a.value);
  return {e, e * a.slope};
}
inline real exponential(real a) { return std::exp(a); }

template <class N>
using square = std::vector<std::vector<N>>;

// Returns A(iterations), with A(0) = exp(v w' / tau) and A(i) = columns(rows(A(i - 1))), where v is
// the reference channel and w the shifted channel. Calls `visit(A)` after every half iteration.
template <class N, class Visit>
square<N> sinkhorn_matrix(std::vector<N> const& v, std::vector<N> const& w, real tau,
                          index_t iterations, Visit const& visit) {
  std::size_t const n = v.size();
  square<N> a(n, std::vector<N>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i][j] = exponential(v[i] * w[j] / N{tau});
  for (index_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t i = 0; i < n; ++i) {
      N sum{};
      for (std::size_t j = 0; j < n; ++j) sum = sum + a[i][j];
      for (std::size_t j = 0; j < n; ++j) a[i][j] = a[i][j] / sum;
    }
    visit(a);
    for (std::size_t j = 0; j < n; ++j) {
      N sum{};
      for (std::size_t i = 0; i < n; ++i) sum = sum + a[i][j];
      for (std::size_t i = 0; i < n; ++i) a[i][j] = a[i][j] / sum;
    }
    visit(a);
  }
  return a;
}

// Results of one group, and the quantities that bound their errors.
struct sinkhorn_group_results {
  std::vector<real> y, dv, dw;                 // dv includes the factor 1 / tau
  std::vector<real> y_size, dv_size, dw_size;  // sums of the magnitudes of their terms
  real max_logit = 0, max_potential = 0;
};

// Returns the gradient of the loss dy' y with respect to v or w.
inline std::vector<real> gradient_by_duals(std::vector<real> const& v, std::vector<real> const& w,
                                           std::vector<real> const& dy, real tau,
                                           index_t iterations, bool with_respect_to_w) {
  std::size_t const n = v.size();
  std::vector<real> gradient;
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<dual> dual_v(n), dual_w(n);
    for (std::size_t i = 0; i < n; ++i) dual_v[i].value = v[i], dual_w[i].value = w[i];
    (with_respect_to_w ? dual_w : dual_v)[k].slope = 1;
    auto const t = sinkhorn_matrix(dual_v, dual_w, tau, iterations, [](auto const&) {});
    dual loss;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) loss = loss + dual{dy[i]} * t[i][j] * dual_w[j];
    gradient.push_back(loss.slope);
  }
  return gradient;
}

// Computes the sums of magnitudes of all terms that reverse differentiation adds.
inline void measure_gradient_terms(std::vector<real> const& v, std::vector<real> const& w,
                                   std::vector<real> const& dy, real tau,
                                   std::vector<square<real>> const& half_iterations,
                                   sinkhorn_group_results& group) {
  std::size_t const n = v.size();
  std::vector<real> df(n), dh(n), next_dh(n);  // magnitudes of the potentials' gradients
  group.dv_size.assign(n, 0);
  group.dw_size.assign(n, 0);
  // Adds a[i][j] * magnitude(i, j), the magnitude of a logit's gradient, to both results.
  auto const add_terms = [&](square<real> const& a, auto const& magnitude) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        real const size = a[i][j] * magnitude(i, j);
        group.dv_size[i] += size * std::abs(w[j]) / tau;
        group.dw_size[j] += size * std::abs(v[i]) / tau;
      }
  };
  square<real> const& last = half_iterations.back();
  add_terms(last, [&](std::size_t i, std::size_t j) { return std::abs(dy[i] * w[j]); });
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      real const size = last[i][j] * std::abs(dy[i] * w[j]);
      df[i] += size;
      dh[j] += size;
      group.dw_size[j] += last[i][j] * std::abs(dy[i]);
    }
  for (std::size_t half = half_iterations.size(); half > 0; half -= 2) {
    square<real> const &columns = half_iterations[half - 1], &rows = half_iterations[half - 2];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) df[i] += columns[i][j] * dh[j];
    add_terms(columns, [&](std::size_t, std::size_t j) { return dh[j]; });
    std::fill(next_dh.begin(), next_dh.end(), real{0});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) next_dh[j] += rows[i][j] * df[i];
    add_terms(rows, [&](std::size_t i, std::size_t) { return df[i]; });
    dh = next_dh;
    std::fill(df.begin(), df.end(), real{0});
  }
}

inline sinkhorn_group_results solve_group(std::vector<real> const& v, std::vector<real> const& w,
                                          std::vector<real> const& dy, real tau,
                                          index_t iterations) {
  std::size_t const n = v.size();
  sinkhorn_group_results group;
  std::vector<square<real>> half_iterations;
  auto const t =
      sinkhorn_matrix(v, w, tau, iterations, [&](auto const& a) { half_iterations.push_back(a); });
  group.y.assign(n, 0);
  group.y_size.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      group.y[i] += t[i][j] * w[j];
      group.y_size[i] += t[i][j] * std::abs(w[j]);
      group.max_logit = std::max(group.max_logit, std::abs(v[i] * w[j] / tau));
    }
  // Computes potentials by log-sum-exp, as the operator does.
  std::vector<real> f(n), h(n);  // of rows and columns
  for (index_t iteration = 0; iteration < iterations; ++iteration) {
    auto const compute_potential = [&](bool is_row, std::size_t k) {
      auto const logit = [&](std::size_t l) {
        return is_row ? v[k] * w[l] / tau + h[l] : v[l] * w[k] / tau + f[l];
      };
      real maximum = logit(0), sum = 0;
      for (std::size_t l = 1; l < n; ++l) maximum = std::max(maximum, logit(l));
      for (std::size_t l = 0; l < n; ++l) sum += std::exp(logit(l) - maximum);
      real const potential = -(maximum + std::log(sum));
      group.max_potential = std::max(group.max_potential, std::abs(potential));
      return potential;
    };
    for (std::size_t i = 0; i < n; ++i) f[i] = compute_potential(true, i);
    for (std::size_t j = 0; j < n; ++j) h[j] = compute_potential(false, j);
  }
  group.dv = gradient_by_duals(v, w, dy, tau, iterations, false);
  group.dw = gradient_by_duals(v, w, dy, tau, iterations, true);
  measure_gradient_terms(v, w, dy, tau, half_iterations, group);
  return group;
}

// Error bound. With unit roundoff u, logits up to L and potentials up to P, a potential inherits
// the error of the potential it is computed from, plus these rounding errors:
//   logits     2 u L for the product of two factors, u (L + P) for adding a potential;
//   exponents  u |d| for d = logit - maximum, weighted with exp(d): at most u log G together;
//   exp        2 u;   the sum  u S with S = min(G, 64) + ceil(G / 64);   log  2 u (1 + log G);
//   the result u P for its last sum (and less for underflow).
// With t iterations, 2 t potentials are computed from each other. So T, after four more roundings,
// has a relative error of at most `matrix_error`, and a sum over T has S more. A term of the
// gradient is a product of at most 2 t + 4 such sums.
struct sinkhorn_error {
  real unit_roundoff, matrix_error, sum_error;
  index_t iterations;

  template <class T>
  static sinkhorn_error make(sinkhorn_group_results const& group, index_t iterations) {
    sinkhorn_error e;
    auto const rows = static_cast<real>(group.y.size()), t = static_cast<real>(iterations);
    real const logit = group.max_logit, potential = group.max_potential, log_rows = std::log(rows);
    e.unit_roundoff = std::ldexp(real{1}, -(format_of<T>().fraction_bits + 1));
    e.sum_error = (std::min(rows, real{64}) + std::ceil(rows / 64)) * e.unit_roundoff;
    real const error_per_potential =
        (3 * logit + 2 * potential + 3 * log_rows + 4) * e.unit_roundoff + e.sum_error;
    e.matrix_error = std::expm1(
        ((4 * t - 1) * error_per_potential + (4 * logit + 3 * potential + 2) * e.unit_roundoff) *
        real{1.001});
    e.iterations = iterations;
    return e;
  }
  real y_error() const { return (1 + matrix_error) * (1 + sum_error + 2 * unit_roundoff) - 1; }
  real gradient_error() const {
    auto const factors = static_cast<real>(2 * iterations + 4);
    return std::expm1(factors * std::log1p(y_error() + 4 * unit_roundoff));
  }
};

}  // namespace support
