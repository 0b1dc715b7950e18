// SPDX-License-Identifier: Apache-2.0
// Oracle of softmax and pointwise attention for one head, in double, with a bound on rounding
// errors. Computes only the sampled rows. The oracle of the tests computes every pair in long
// double, which takes minutes at the lengths of the benches.
#pragma once

#include "driver/numbers.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace bench {

struct matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;

  matrix() = default;
  matrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}
  double* row(std::size_t i) { return values.data() + i * columns; }
  double const* row(std::size_t i) const { return values.data() + i * columns; }
  // Largest Euclidean norm of a row.
  double max_row_norm() const {
    double max_square = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {
      double square = 0.0;
      for (std::size_t c = 0; c < columns; ++c) square += row(i)[c] * row(i)[c];
      max_square = std::max(max_square, square);
    }
    return std::sqrt(max_square);
  }
};

class attention_oracle {
 public:
  using predicate = std::function<bool(slicesort::index_t query, slicesort::index_t key)>;
  using pair_value = std::function<double(std::size_t query, std::size_t key)>;
  using score_value = std::function<double(double score)>;
  // Bias of a score, dropout factor of a weight, and a function of the score with its derivative
  // that replaces the softmax.
  struct modifiers {
    pair_value bias = [](std::size_t, std::size_t) { return 0.0; };
    pair_value dropout_factor = [](std::size_t, std::size_t) { return 1.0; };
    score_value function = nullptr, slope = nullptr;
  };

  // `dy` may be empty for forward.
  attention_oracle(matrix q, matrix k, matrix v, matrix dy, predicate visible, modifiers changes)
      : q_(std::move(q)),
        k_(std::move(k)),
        v_(std::move(v)),
        dy_(std::move(dy)),
        scale_(1.0 / std::sqrt(static_cast<double>(q_.columns))),
        visible_(std::move(visible)),
        modifiers_(std::move(changes)) {}

  // Weights of all keys for a query, before dropout.
  std::vector<double> weights(std::size_t query) const {
    if (modifiers_.function != nullptr) return functions(query, modifiers_.function);
    std::vector<double> p = functions(query, [](double score) { return score; });
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (std::size_t j = 0; j < k_.rows; ++j)
      if (visible(query, j)) maximum = std::max(maximum, p[j]);
    for (std::size_t j = 0; j < k_.rows; ++j) {
      if (!visible(query, j)) continue;
      p[j] = std::exp(p[j] - maximum);
      sum += p[j];
    }
    for (double& weight : p) weight = sum > 0.0 ? weight / sum : 0.0;
    return p;
  }

  std::vector<tracked_sum> y(std::size_t i) const { return y(i, weights(i)); }

  // Gradient of query `i`.
  std::vector<tracked_sum> dq(std::size_t i) const {
    std::vector<double> const p = weights(i), slope = slopes(i, p);
    tracked_sum const dy_dot_y = compute_dy_dot_y(i, p);
    std::vector<tracked_sum> dq_row(q_.columns);
    for (std::size_t j = 0; j < k_.rows; ++j)
      if (slope[j] > 0.0) add_scaled(dq_row, k_.row(j), score_gradient(i, j, slope[j], dy_dot_y));
    return dq_row;
  }

  // Gradients of the given keys and of their values.
  struct key_gradients {
    std::vector<std::vector<tracked_sum>> dk, dv;
  };
  key_gradients key_gradients_of(std::vector<std::size_t> const& keys) const {
    key_gradients sums{{keys.size(), std::vector<tracked_sum>(k_.columns)},
                       {keys.size(), std::vector<tracked_sum>(v_.columns)}};
    for (std::size_t i = 0; i < q_.rows; ++i) {
      std::vector<double> const p = weights(i), slope = slopes(i, p);
      tracked_sum const dy_dot_y = compute_dy_dot_y(i, p);
      for (std::size_t n = 0; n < keys.size(); ++n) {
        std::size_t const j = keys[n];
        if (p[j] > 0.0)
          add_scaled(sums.dv[n], dy_.row(i),
                     tracked_sum::exact(p[j] * modifiers_.dropout_factor(i, j)));
        if (slope[j] > 0.0)
          add_scaled(sums.dk[n], q_.row(i), score_gradient(i, j, slope[j], dy_dot_y));
      }
    }
    return sums;
  }

  // Bound on errors relative to the magnitudes. `sum_roundoff` is the unit roundoff of sums,
  // `element_roundoff` the unit roundoff of the element type. A score has an error of `channels`
  // roundings of its absolute sum. A weight has twice as much, from its exponential and the row's
  // sum. Each term of a sum over keys or queries adds one rounding.
  double tolerance(double sum_roundoff, double element_roundoff) const {
    double const roundings = static_cast<double>(q_.columns + v_.columns + 16);
    double const max_score = scale_ * q_.max_row_norm() * k_.max_row_norm();
    double const score_error = (roundings + 8.0) * sum_roundoff * max_score;
    double const sum_error =
        (roundings + static_cast<double>(std::max(q_.rows, k_.rows))) * sum_roundoff;
    return 4.0 * (score_error + sum_error) + 4.0 * element_roundoff;
  }

 private:
  bool visible(std::size_t query, std::size_t key) const {
    return visible_(static_cast<slicesort::index_t>(query), static_cast<slicesort::index_t>(key));
  }
  static double dot(double const* a, double const* b, std::size_t n) {
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (std::size_t c = 0; c < n; ++c) sum[c % 4] += a[c] * b[c];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  // Function of the score of each visible key, 0 for others.
  std::vector<double> functions(std::size_t query, score_value const& function) const {
    std::vector<double> results(k_.rows, 0.0);
    for (std::size_t j = 0; j < k_.rows; ++j)
      if (visible(query, j))
        results[j] = function(scale_ * dot(q_.row(query), k_.row(j), q_.columns) +
                              modifiers_.bias(query, j));
    return results;
  }
  // Factor of the score gradients: the weights of a softmax, or the slopes of the function.
  std::vector<double> slopes(std::size_t query, std::vector<double> const& weights) const {
    return modifiers_.slope != nullptr ? functions(query, modifiers_.slope) : weights;
  }
  static void add_scaled(std::vector<tracked_sum>& sums, double const* row, tracked_sum factor) {
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += factor * row[c];
  }

  std::vector<tracked_sum> y(std::size_t i, std::vector<double> const& p) const {
    std::vector<tracked_sum> y_row(v_.columns);
    for (std::size_t j = 0; j < v_.rows; ++j) {
      double const weight = p[j] > 0.0 ? p[j] * modifiers_.dropout_factor(i, j) : 0.0;
      if (weight > 0.0) add_scaled(y_row, v_.row(j), tracked_sum::exact(weight));
    }
    return y_row;
  }
  // <dy, y> of a query; 0 without a softmax.
  tracked_sum compute_dy_dot_y(std::size_t i, std::vector<double> const& p) const {
    if (modifiers_.slope != nullptr) return {};
    std::vector<tracked_sum> const y_row = y(i, p);
    tracked_sum sum;
    for (std::size_t c = 0; c < v_.columns; ++c) sum += y_row[c] * dy_.row(i)[c];
    return sum;
  }
  // Gradient of <q_i, k_j>: scale * p * (dp - <dy, y>), with dp = <dy, v_j> * dropout factor.
  tracked_sum score_gradient(std::size_t i, std::size_t j, double p, tracked_sum dy_dot_y) const {
    tracked_sum dp;
    for (std::size_t c = 0; c < v_.columns; ++c)
      dp += tracked_sum::exact(dy_.row(i)[c]) * v_.row(j)[c];
    dp = dp * modifiers_.dropout_factor(i, j);
    return tracked_sum{dp.value - dy_dot_y.value, dp.magnitude + dy_dot_y.magnitude} * (scale_ * p);
  }

  matrix q_, k_, v_, dy_;
  double scale_;
  predicate visible_;
  modifiers modifiers_;
};

}  // namespace bench
