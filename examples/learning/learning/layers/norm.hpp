// SPDX-License-Identifier: Apache-2.0
// Layer norm.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/parameter_scope.hpp"

#include <cmath>

namespace learning {

/// `y = g (x - mean) / sqrt(variance + epsilon) + b`, row by row, with the biased variance.
template <class T>
class layer_norm {
 public:
  explicit layer_norm(parameter_scope<T> const& scope)
      : epsilon_(scope.rules.norm_epsilon),
        gain_(scope.add("weight", {scope.width}, initializer::constant(1))),
        shift_(scope.add("bias", {scope.width}, initializer::constant(0))) {}

  void forward(context<T>& c, matrix<T const> x, matrix<T> y) {
    scale_ = c.keep(x.rows * 2);
    c.parallel_rows(x, [&](index_t first, index_t count) {
      T const *const gain = gain_.value(), *const shift = shift_.value();
      for (index_t r = first; r < first + count; ++r) {
        T const* const from = x.row(r);
        T const mean = sum(x.columns, [&](index_t i) { return from[i]; }) / width(x);
        T const variance =
            sum(x.columns, [&](index_t i) { return (from[i] - mean) * (from[i] - mean); }) /
            width(x);
        T const inverse = 1 / std::sqrt(variance + static_cast<T>(epsilon_));
        scale_[2 * r] = mean, scale_[2 * r + 1] = inverse;
        T* const to = y.row(r);
        for (index_t i = 0; i < x.columns; ++i)
          to[i] = gain[i] * ((from[i] - mean) * inverse) + shift[i];
      }
    });
  }
  /// Adds to the gradients of g and b. Writes the gradient of x to dx, or adds it.
  void backward(context<T>& c, matrix<T const> x, matrix<T const> dy, matrix<T> dx,
                ss::grad_mode mode = ss::grad_mode::overwrite) const {
    index_t const columns = x.columns;
    bool const adds = mode == ss::grad_mode::accumulate;
    c.reduce_rows(
        x, 2 * columns, c.stack.counting() ? nullptr : gain_.gradient(),
        [&](index_t first, index_t count, T* part) {
          T const* const gain = gain_.value();
          T *const dgain = part, *const dshift = part + columns;
          for (index_t r = first; r < first + count; ++r) {
            T const mean = scale_[2 * r], inverse = scale_[2 * r + 1];
            T const *const from = x.row(r), *const d = dy.row(r);
            T* const to = dx.row(r);
            auto const normal = [&](index_t i) { return (from[i] - mean) * inverse; };
            for (index_t i = 0; i < columns; ++i) dgain[i] += d[i] * normal(i), dshift[i] += d[i];
            T const flat = sum(columns, [&](index_t i) { return gain[i] * d[i]; }) / width(x);
            T const slope =
                sum(columns, [&](index_t i) { return gain[i] * d[i] * normal(i); }) / width(x);
            for (index_t i = 0; i < columns; ++i) {
              T const value = (gain[i] * d[i] - flat - normal(i) * slope) * inverse;
              to[i] = adds ? to[i] + value : value;
            }
          }
        });
  }

 private:
  static T width(matrix<T const> x) { return static_cast<T>(x.columns); }
  // Sums in a fixed order of several partial sums, which compilers may vectorize.
  template <class F>
  static T sum(index_t count, F const& f) {
    constexpr index_t lanes = 16;
    T sums[lanes] = {};
    index_t i = 0;
    for (; i + lanes <= count; i += lanes)
      for (index_t k = 0; k < lanes; ++k) sums[k] += f(i + k);
    for (index_t k = 0; i < count; ++i, ++k) sums[k] += f(i);
    for (index_t half = lanes / 2; half > 0; half /= 2)
      for (index_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    return sums[0];
  }

  double epsilon_;
  parameter<T> gain_, shift_;
  T* scale_ = nullptr;  // mean and inverse deviation of every row
};

}  // namespace learning
