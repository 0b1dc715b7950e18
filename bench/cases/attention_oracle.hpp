// SPDX-License-Identifier: Apache-2.0
// Oracle of softmax attention for one head, in double, with a bound on rounding errors. Computes
// only the sampled rows: the tests' oracle computes every pair in long double, which takes minutes
// at the lengths of the benches.
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
  matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  double* row(std::size_t i) { return values.data() + i * columns; }
  double const* row(std::size_t i) const { return values.data() + i * columns; }
  double longest_row() const {
    double largest = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {
      double sum = 0.0;
      for (std::size_t c = 0; c < columns; ++c) sum += row(i)[c] * row(i)[c];
      largest = std::max(largest, sum);
    }
    return std::sqrt(largest);
  }
};

class attention_oracle {
 public:
  using allowed = std::function<bool(slicesort::index_t query, slicesort::index_t key)>;
  using number = std::function<double(std::size_t query, std::size_t key)>;
  // Bias of a score, and dropout factor of a weight.
  struct variant {
    number bias = [](std::size_t, std::size_t) { return 0.0; };
    number factor = [](std::size_t, std::size_t) { return 1.0; };
  };

  // `dy` may be empty for forward.
  attention_oracle(matrix q, matrix k, matrix v, matrix dy, allowed visible, variant options)
      : q_(std::move(q)),
        k_(std::move(k)),
        v_(std::move(v)),
        dy_(std::move(dy)),
        scale_(1.0 / std::sqrt(static_cast<double>(q_.columns))),
        visible_(std::move(visible)),
        variant_(std::move(options)) {}

  // The weights of a query's keys, before dropout.
  std::vector<double> weights(std::size_t query) const {
    std::vector<double> p(k_.rows, 0.0);
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (std::size_t j = 0; j < k_.rows; ++j) {
      if (!visible(query, j)) continue;
      p[j] = scale_ * product(q_.row(query), k_.row(j), q_.columns) + variant_.bias(query, j);
      maximum = std::max(maximum, p[j]);
    }
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
    std::vector<double> const p = weights(i);
    tracked_sum const g = mean_of_gradient(i, p);
    std::vector<tracked_sum> r(q_.columns);
    for (std::size_t j = 0; j < k_.rows; ++j)
      if (p[j] > 0.0) add(r, k_.row(j), slope(i, j, p[j], g));
    return r;
  }

  // Gradients of the given keys and of their values.
  struct key_gradients {
    std::vector<std::vector<tracked_sum>> dk, dv;
  };
  key_gradients key_gradients_of(std::vector<std::size_t> const& keys) const {
    key_gradients sums{{keys.size(), std::vector<tracked_sum>(k_.columns)},
                       {keys.size(), std::vector<tracked_sum>(v_.columns)}};
    for (std::size_t i = 0; i < q_.rows; ++i) {
      std::vector<double> const p = weights(i);
      tracked_sum const g = mean_of_gradient(i, p);
      for (std::size_t n = 0; n < keys.size(); ++n) {
        std::size_t const j = keys[n];
        if (!(p[j] > 0.0)) continue;
        add(sums.dv[n], dy_.row(i), tracked_sum::exact(p[j] * variant_.factor(i, j)));
        add(sums.dk[n], q_.row(i), slope(i, j, p[j], g));
      }
    }
    return sums;
  }

  // Bound on errors relative to the magnitudes: `sum_roundoff` is the unit roundoff of sums,
  // `element_roundoff` that of the element type. A score has an error of `channels` roundings of
  // its absolute sum. A weight has twice as much, from its exponential and the row's sum. Each term
  // of a sum over keys or queries adds one rounding.
  double tolerance(double sum_roundoff, double element_roundoff) const {
    double const steps = static_cast<double>(q_.columns + v_.columns + 16);
    double const largest = scale_ * q_.longest_row() * k_.longest_row();
    double const score = (steps + 8.0) * sum_roundoff * largest;
    double const sums = (steps + static_cast<double>(std::max(q_.rows, k_.rows))) * sum_roundoff;
    return 4.0 * (score + sums) + 4.0 * element_roundoff;
  }

 private:
  bool visible(std::size_t query, std::size_t key) const {
    return visible_(static_cast<slicesort::index_t>(query), static_cast<slicesort::index_t>(key));
  }
  static double product(double const* a, double const* b, std::size_t n) {
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (std::size_t c = 0; c < n; ++c) sum[c % 4] += a[c] * b[c];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  static void add(std::vector<tracked_sum>& r, double const* row, tracked_sum weight) {
    for (std::size_t c = 0; c < r.size(); ++c) r[c] += weight * row[c];
  }

  std::vector<tracked_sum> y(std::size_t i, std::vector<double> const& p) const {
    std::vector<tracked_sum> r(v_.columns);
    for (std::size_t j = 0; j < v_.rows; ++j) {
      double const weight = p[j] > 0.0 ? p[j] * variant_.factor(i, j) : 0.0;
      if (weight > 0.0) add(r, v_.row(j), tracked_sum::exact(weight));
    }
    return r;
  }
  // <dy, y> of a query.
  tracked_sum mean_of_gradient(std::size_t i, std::vector<double> const& p) const {
    std::vector<tracked_sum> const mean = y(i, p);
    tracked_sum g;
    for (std::size_t c = 0; c < v_.columns; ++c) g += mean[c] * dy_.row(i)[c];
    return g;
  }
  // Gradient of the product of query i and key j.
  tracked_sum slope(std::size_t i, std::size_t j, double p, tracked_sum g) const {
    tracked_sum d;
    for (std::size_t c = 0; c < v_.columns; ++c)
      d += tracked_sum::exact(dy_.row(i)[c]) * v_.row(j)[c];
    d = d * variant_.factor(i, j);
    return tracked_sum{d.value - g.value, d.magnitude + g.magnitude} * (scale_ * p);
  }

  matrix q_, k_, v_, dy_;
  double scale_;
  allowed visible_;
  variant variant_;
};

}  // namespace bench
