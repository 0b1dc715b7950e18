// SPDX-License-Identifier: Apache-2.0
// Layer norm.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/parameter_scope.hpp"

#include <cmath>

namespace learning {

/// `y = weight (x - mean) / sqrt(variance + epsilon) + bias`, row by row, with the biased variance.
template <class T>
class layer_norm {
 public:
  explicit layer_norm(parameter_scope<T> const& scope)
      : epsilon_(scope.rules.norm_epsilon),
        weight_(scope.add("weight", {scope.width}, initializer::constant(1))),
        bias_(scope.add("bias", {scope.width}, initializer::constant(0))) {}

  void forward(context<T>& c, matrix<T const> x, matrix<T> y) {
    row_stats_ = c.keep(x.rows * 2);
    T const *const weight = weight_.value(), *const bias = bias_.value();
    c.for_each_row(x, [&](index_t r) {
      T const* const x_row = x.row(r);
      T const mean = sum(x.columns, [&](index_t i) { return x_row[i]; }) / width(x);
      T const variance =
          sum(x.columns, [&](index_t i) { return (x_row[i] - mean) * (x_row[i] - mean); }) /
          width(x);
      T const rstd = 1 / std::sqrt(variance + static_cast<T>(epsilon_));
      row_stats_[2 * r] = mean, row_stats_[2 * r + 1] = rstd;
      T* const y_row = y.row(r);
      for (index_t i = 0; i < x.columns; ++i)
        y_row[i] = weight[i] * ((x_row[i] - mean) * rstd) + bias[i];
    });
  }
  /// Accumulates the gradients of weight and bias. Writes dx, or accumulates it if `mode` says so.
  void backward(context<T>& c, matrix<T const> x, matrix<T const> dy, matrix<T> dx,
                ss::grad_mode mode = ss::grad_mode::overwrite) const {
    index_t const columns = x.columns;
    bool const accumulate = mode == ss::grad_mode::accumulate;
    c.reduce_rows(x, 2 * columns, c.stack.is_counting() ? nullptr : weight_.gradient(),
                  [&](index_t first, index_t count, T* partial) {
                    T const* const weight = weight_.value();
                    T *const dw = partial, *const db = partial + columns;
                    for (index_t r = first; r < first + count; ++r) {
                      T const mean = row_stats_[2 * r], rstd = row_stats_[2 * r + 1];
                      T const *const x_row = x.row(r), *const dy_row = dy.row(r);
                      T* const dx_row = dx.row(r);
                      auto const x_hat = [&](index_t i) { return (x_row[i] - mean) * rstd; };
                      auto const dx_hat = [&](index_t i) { return weight[i] * dy_row[i]; };
                      for (index_t i = 0; i < columns; ++i)
                        dw[i] += dy_row[i] * x_hat(i), db[i] += dy_row[i];
                      T const mean_dx_hat = sum(columns, dx_hat) / width(x);
                      T const mean_dx_hat_x_hat =
                          sum(columns, [&](index_t i) { return dx_hat(i) * x_hat(i); }) / width(x);
                      for (index_t i = 0; i < columns; ++i) {
                        T const value =
                            (dx_hat(i) - mean_dx_hat - x_hat(i) * mean_dx_hat_x_hat) * rstd;
                        dx_row[i] = accumulate ? dx_row[i] + value : value;
                      }
                    }
                  });
  }

 private:
  static T width(matrix<T const> x) { return static_cast<T>(x.columns); }
  // Sums in a fixed order, into 16 partial sums that a compiler can vectorize.
  template <class F>
  static T sum(index_t count, F const& f) {
    constexpr index_t lanes = 16;
    T sums[lanes] = {};
    index_t i = 0;
    for (; i + lanes <= count; i += lanes)
      for (index_t k = 0; k < lanes; ++k) sums[k] += f(i + k);
    for (index_t k = 0; i < count; ++i, ++k) sums[k] += f(i);
    for (index_t stride = lanes / 2; stride > 0; stride /= 2)
      for (index_t k = 0; k < stride; ++k) sums[k] += sums[k + stride];
    return sums[0];
  }

  double epsilon_;
  parameter<T> weight_, bias_;
  T* row_stats_ = nullptr;  // mean and reciprocal standard deviation of every row
};

}  // namespace learning
