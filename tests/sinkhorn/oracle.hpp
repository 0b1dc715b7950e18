// SPDX-License-Identifier: Apache-2.0
// Sinkhorn's algorithm and its gradient from their definitions, in long double.
#pragma once

#include "support/problems.hpp"

#include <slicesort/sinkhorn.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace support {

// One matrix, [rows][columns].
class dense_matrix_oracle {
 public:
  using real = long double;

  dense_matrix_oracle(index_t rows, index_t columns)
      : rows_(rows), columns_(columns), numbers_(static_cast<std::size_t>(rows * columns)) {}

  index_t rows() const { return rows_; }
  index_t columns() const { return columns_; }
  real& operator()(index_t i, index_t j) {
    return numbers_[static_cast<std::size_t>(i * columns_ + j)];
  }
  real operator()(index_t i, index_t j) const {
    return numbers_[static_cast<std::size_t>(i * columns_ + j)];
  }
  real largest() const {
    real size = 0;
    for (real x : numbers_)
      if (std::isfinite(x)) size = std::max(size, std::abs(x));
    return size;
  }

 private:
  index_t rows_, columns_;
  std::vector<real> numbers_;
};

// All half-steps on a matrix of logits that are already divided by tau.
class sinkhorn_oracle {
 public:
  using real = long double;
  using matrix = dense_matrix_oracle;

  sinkhorn_oracle(matrix const& logits, ss::half_steps steps) : logits_(logits), steps_(steps) {
    std::vector<real> u(static_cast<std::size_t>(logits.rows())),
        w(static_cast<std::size_t>(logits.columns()));
    for (index_t t = 0; t < steps.count; ++t) {
      if (normalizes_rows(t))
        for (index_t i = 0; i < logits.rows(); ++i)
          at(u, i) = -log_sum(logits.columns(), [&](index_t j) { return logits(i, j) + at(w, j); });
      else
        for (index_t j = 0; j < logits.columns(); ++j)
          at(w, j) = std::log(ratio()) -
                     log_sum(logits.rows(), [&](index_t i) { return logits(i, j) + at(u, i); });
      rows_.push_back(u);
      columns_.push_back(w);
    }
  }

  // The matrix after the last half-step.
  matrix result() const { return after(steps_.count - 1); }

  // The gradient of the logits, for the gradient dy of the result.
  matrix gradient(matrix const& dy) const {
    matrix const y = result();
    index_t const n = y.rows(), m = y.columns();
    matrix d(n, m);
    std::vector<real> du(static_cast<std::size_t>(n)), dw(static_cast<std::size_t>(m));
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < m; ++j) {
        d(i, j) = y(i, j) * dy(i, j);
        at(du, i) += d(i, j);
        at(dw, j) += d(i, j);
      }
    for (index_t t = steps_.count - 1; t >= 0; --t) {
      bool const rows = normalizes_rows(t);
      matrix const e = after(t);
      std::vector<real> const g = rows ? du : dw;
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < m; ++j) {
          real const change = rows ? at(g, i) * e(i, j) : at(g, j) * e(i, j) / ratio();
          d(i, j) -= change;
          (rows ? at(dw, j) : at(du, i)) -= change;
        }
      std::fill(rows ? du.begin() : dw.begin(), rows ? du.end() : dw.end(), real{0});
    }
    return d;
  }

 private:
  static real& at(std::vector<real>& v, index_t i) { return v[static_cast<std::size_t>(i)]; }
  static real at(std::vector<real> const& v, index_t i) { return v[static_cast<std::size_t>(i)]; }

  bool normalizes_rows(index_t t) const {
    return (steps_.last == ss::side::rows) == ((steps_.count - 1 - t) % 2 == 0);
  }
  real ratio() const {
    return static_cast<real>(logits_.rows()) / static_cast<real>(logits_.columns());
  }
  matrix after(index_t t) const {
    matrix y(logits_.rows(), logits_.columns());
    auto const step = static_cast<std::size_t>(t);
    for (index_t i = 0; i < y.rows(); ++i)
      for (index_t j = 0; j < y.columns(); ++j)
        y(i, j) = std::exp(logits_(i, j) + at(rows_[step], i) + at(columns_[step], j));
    return y;
  }
  // Returns the logarithm of the sum of exp(term(k)), or a large number if all terms are -infinity.
  template <class Term>
  static real log_sum(index_t size, Term const& term) {
    real maximum = -std::numeric_limits<real>::infinity(), sum = 0;
    for (index_t k = 0; k < size; ++k) maximum = std::max(maximum, term(k));
    if (!(maximum > -std::numeric_limits<real>::infinity())) return 0;
    for (index_t k = 0; k < size; ++k) sum += std::exp(term(k) - maximum);
    return maximum + std::log(sum);
  }

  matrix logits_;
  ss::half_steps steps_;
  std::vector<std::vector<real>> rows_, columns_;  // potentials after each half-step
};

}  // namespace support
