// SPDX-License-Identifier: Apache-2.0
// Oracle of sinkhorn_csp: equation 8 of the CSP paper in long double, with matrices that are
// divided by their row and column sums; gradients by dual numbers; and error bounds for results in
// T.
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

// A number and its derivative.
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

// A(0) = exp(v w' / tau); A(i) = columns(rows(A(i - 1))). Calls `visit(A)` after every half
// iteration.
template <class N, class Visit>
square<N> sinkhorn_matrix(std::vector<N> const& v, std::vector<N> const& w, real tau,
                          index_t iterations, Visit const& visit) {
  std::size_t const n = v.size();
  square<N> a(n, std::vector<N>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i][j] = exponential(v[i] * w[j] / N{tau});
  for (index_t s = 0; s < iterations; ++s) {
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
struct sinkhorn_group_answer {
  std::vector<real> y, dv, dw;                 // dv is divided by tau
  std::vector<real> y_size, dv_size, dw_size;  // sums of the terms' magnitudes
  real largest_logit = 0, largest_potential = 0;
};

inline std::vector<real> gradient_by_duals(std::vector<real> const& v, std::vector<real> const& w,
                                           std::vector<real> const& dy, real tau,
                                           index_t iterations, bool of_w) {
  std::size_t const n = v.size();
  std::vector<real> gradient;
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<dual> a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) a[i].value = v[i], b[i].value = w[i];
    (of_w ? b : a)[k].slope = 1;
    auto const t = sinkhorn_matrix(a, b, tau, iterations, [](auto const&) {});
    dual loss;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) loss = loss + dual{dy[i]} * t[i][j] * b[j];
    gradient.push_back(loss.slope);
  }
  return gradient;
}

// Computes the sums of magnitudes of all terms that reverse differentiation adds.
inline void measure_gradient(std::vector<real> const& v, std::vector<real> const& w,
                             std::vector<real> const& dy, real tau,
                             std::vector<square<real>> const& halves, sinkhorn_group_answer& g) {
  std::size_t const n = v.size();
  std::vector<real> df(n), dh(n), next(n);
  g.dv_size.assign(n, 0);
  g.dw_size.assign(n, 0);
  // Adds |matrix| * |gradient of the potentials of rows or columns| to both results.
  auto const spread = [&](square<real> const& a, auto const& amount) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        real const size = a[i][j] * amount(i, j);
        g.dv_size[i] += size * std::abs(w[j]) / tau;
        g.dw_size[j] += size * std::abs(v[i]) / tau;
      }
  };
  square<real> const& last = halves.back();
  spread(last, [&](std::size_t i, std::size_t j) { return std::abs(dy[i] * w[j]); });
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      real const size = last[i][j] * std::abs(dy[i] * w[j]);
      df[i] += size;
      dh[j] += size;
      g.dw_size[j] += last[i][j] * std::abs(dy[i]);
    }
  for (std::size_t half = halves.size(); half > 0; half -= 2) {
    square<real> const &columns = halves[half - 1], &rows = halves[half - 2];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) df[i] += columns[i][j] * dh[j];
    spread(columns, [&](std::size_t, std::size_t j) { return dh[j]; });
    std::fill(next.begin(), next.end(), real{0});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) next[j] += rows[i][j] * df[i];
    spread(rows, [&](std::size_t i, std::size_t) { return df[i]; });
    dh = next;
    std::fill(df.begin(), df.end(), real{0});
  }
}

inline sinkhorn_group_answer solve_group(std::vector<real> const& v, std::vector<real> const& w,
                                         std::vector<real> const& dy, real tau,
                                         index_t iterations) {
  std::size_t const n = v.size();
  sinkhorn_group_answer g;
  std::vector<square<real>> halves;
  auto const t =
      sinkhorn_matrix(v, w, tau, iterations, [&](auto const& a) { halves.push_back(a); });
  g.y.assign(n, 0);
  g.y_size.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      g.y[i] += t[i][j] * w[j];
      g.y_size[i] += t[i][j] * std::abs(w[j]);
      g.largest_logit = std::max(g.largest_logit, std::abs(v[i] * w[j] / tau));
    }
  // Computes potentials by log-sum-exp, as the operator does.
  std::vector<real> f(n), h(n);
  for (index_t s = 0; s < iterations; ++s) {
    auto const lse = [&](bool of_rows, std::size_t k) {
      auto const logit = [&](std::size_t l) {
        return of_rows ? v[k] * w[l] / tau + h[l] : v[l] * w[k] / tau + f[l];
      };
      real maximum = logit(0), sum = 0;
      for (std::size_t l = 1; l < n; ++l) maximum = std::max(maximum, logit(l));
      for (std::size_t l = 0; l < n; ++l) sum += std::exp(logit(l) - maximum);
      real const potential = -(maximum + std::log(sum));
      g.largest_potential = std::max(g.largest_potential, std::abs(potential));
      return potential;
    };
    for (std::size_t i = 0; i < n; ++i) f[i] = lse(true, i);
    for (std::size_t j = 0; j < n; ++j) h[j] = lse(false, j);
  }
  g.dv = gradient_by_duals(v, w, dy, tau, iterations, false);
  g.dw = gradient_by_duals(v, w, dy, tau, iterations, true);
  measure_gradient(v, w, dy, tau, halves, g);
  return g;
}

// Error bound. With unit roundoff u, logits up to L and potentials up to P, a potential inherits
// the error of the potential it is computed from, plus these rounding errors:
//   logits     2 u L for the product of two factors, u (L + P) for adding a potential;
//   exponents  u |d| for d = logit - maximum, weighted with exp(d): at most u log G together;
//   exp        2 u;   the sum  u S with S = min(G, 64) + ceil(G / 64);   log  2 u (1 + log G);
//   the result u P for its last sum (and less for underflow).
// 2 t potentials are computed from each other. So T, after four more roundings, has a relative
// error of at most `of_matrix`, and a sum over T has S more. A term of the gradient is a product of
// at most 2 t + 4 such sums.
struct sinkhorn_error {
  real unit, of_matrix, of_sum;
  index_t iterations;

  template <class T>
  static sinkhorn_error make(sinkhorn_group_answer const& g, index_t iterations) {
    sinkhorn_error e;
    auto const rows = static_cast<real>(g.y.size()), t = static_cast<real>(iterations);
    real const logit = g.largest_logit, potential = g.largest_potential, depth = std::log(rows);
    e.unit = std::ldexp(real{1}, -(format_of<T>().fraction_bits + 1));
    e.of_sum = (std::min(rows, real{64}) + std::ceil(rows / 64)) * e.unit;
    real const step = (3 * logit + 2 * potential + 3 * depth + 4) * e.unit + e.of_sum;
    e.of_matrix =
        std::expm1(((4 * t - 1) * step + (4 * logit + 3 * potential + 2) * e.unit) * real{1.001});
    e.iterations = iterations;
    return e;
  }
  real of_y() const { return (1 + of_matrix) * (1 + of_sum + 2 * unit) - 1; }
  real of_gradient() const {
    auto const factors = static_cast<real>(2 * iterations + 4);
    return std::expm1(factors * std::log1p(of_y() + 4 * unit));
  }
};

}  // namespace support
