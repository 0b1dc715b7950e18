// SPDX-License-Identifier: Apache-2.0
// Softmax attention of one head from its definition, in double, and a bound on the rounding errors
// of an implementation. It computes the rows that are sampled: the tests' oracle computes every
// pair with its bounds in long double, which takes minutes at the lengths of the benches.
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

// Rows of numbers.
struct matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;

  matrix() = default;
  matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  double* row(std::size_t i) { return values.data() + i * columns; }
  double const* row(std::size_t i) const { return values.data() + i * columns; }
  double longest_row() const {
    double most = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {
      double sum = 0.0;
      for (std::size_t c = 0; c < columns; ++c) sum += row(i)[c] * row(i)[c];
      most = std::max(most, sum);
    }
    return std::sqrt(most);
  }
};

class attention_oracle {
 public:
  using allowed = std::function<bool(slicesort::index_t query, slicesort::index_t key)>;
  using number = std::function<double(std::size_t query, std::size_t key)>;
  // What is added to a score; what a weight is multiplied by once it is one: dropout.
  struct variant {
    number bias = [](std::size_t, std::size_t) { return 0.0; };
    number factor = [](std::size_t, std::size_t) { return 1.0; };
  };

  // `dy` may be empty where there is no backward.
  attention_oracle(matrix q, matrix k, matrix v, matrix dy, allowed looks, variant of)
      : q_(std::move(q)),
        k_(std::move(k)),
        v_(std::move(v)),
        dy_(std::move(dy)),
        scale_(1.0 / std::sqrt(static_cast<double>(q_.columns))),
        looks_(std::move(looks)),
        of_(std::move(of)) {}

  // The weights of a query's keys, all kept.
  std::vector<double> weights(std::size_t query) const {
    std::vector<double> p(k_.rows, 0.0);
    double most = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (std::size_t j = 0; j < k_.rows; ++j) {
      if (!looks(query, j)) continue;
      p[j] = scale_ * product(q_.row(query), k_.row(j), q_.columns) + of_.bias(query, j);
      most = std::max(most, p[j]);
    }
    for (std::size_t j = 0; j < k_.rows; ++j) {
      if (!looks(query, j)) continue;
      p[j] = std::exp(p[j] - most);
      sum += p[j];
    }
    for (double& one : p) one = sum > 0.0 ? one / sum : 0.0;
    return p;
  }

  std::vector<sized> y(std::size_t i) const { return y(i, weights(i)); }

  // The gradient of query `i`.
  std::vector<sized> dq(std::size_t i) const {
    std::vector<double> const p = weights(i);
    sized const g = mean_of_gradient(i, p);
    std::vector<sized> r(q_.columns);
    for (std::size_t j = 0; j < k_.rows; ++j)
      if (p[j] > 0.0) add(r, k_.row(j), slope(i, j, p[j], g));
    return r;
  }

  // The gradients of the given keys and of their values: sums over all queries.
  struct of_keys {
    std::vector<std::vector<sized>> dk, dv;
  };
  of_keys gradients_of(std::vector<std::size_t> const& keys) const {
    of_keys sums{{keys.size(), std::vector<sized>(k_.columns)},
                 {keys.size(), std::vector<sized>(v_.columns)}};
    for (std::size_t i = 0; i < q_.rows; ++i) {
      std::vector<double> const p = weights(i);
      sized const g = mean_of_gradient(i, p);
      for (std::size_t at = 0; at < keys.size(); ++at) {
        std::size_t const j = keys[at];
        if (!(p[j] > 0.0)) continue;
        add(sums.dv[at], dy_.row(i), sized::exact(p[j] * of_.factor(i, j)));
        add(sums.dk[at], q_.row(i), slope(i, j, p[j], g));
      }
    }
    return sums;
  }

  // Bounds on errors, relative to the sizes: `unit` is the rounding of sums, `of_elements` that of
  // the element type. A score is off by `channels` roundings of its absolute sum; a weight by twice
  // as much, since both its exponential and the row's sum are off; each term of a sum over keys or
  // queries adds one rounding.
  double tolerance(double unit, double of_elements) const {
    double const steps = static_cast<double>(q_.columns + v_.columns + 16);
    double const largest = scale_ * q_.longest_row() * k_.longest_row();
    double const of_score = (steps + 8.0) * unit * largest;
    double const of_sums = (steps + static_cast<double>(std::max(q_.rows, k_.rows))) * unit;
    return 4.0 * (of_score + of_sums) + 4.0 * of_elements;
  }

 private:
  bool looks(std::size_t query, std::size_t key) const {
    return looks_(static_cast<slicesort::index_t>(query), static_cast<slicesort::index_t>(key));
  }
  static double product(double const* a, double const* b, std::size_t n) {
    // Four partial sums, for speed.
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (std::size_t c = 0; c < n; ++c) sum[c % 4] += a[c] * b[c];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  static void add(std::vector<sized>& r, double const* row, sized by) {
    for (std::size_t c = 0; c < r.size(); ++c) r[c] += by * row[c];
  }

  std::vector<sized> y(std::size_t i, std::vector<double> const& p) const {
    std::vector<sized> r(v_.columns);
    for (std::size_t j = 0; j < v_.rows; ++j) {
      double const weight = p[j] > 0.0 ? p[j] * of_.factor(i, j) : 0.0;
      if (weight > 0.0) add(r, v_.row(j), sized::exact(weight));
    }
    return r;
  }
  // <dy, y> of a query.
  sized mean_of_gradient(std::size_t i, std::vector<double> const& p) const {
    std::vector<sized> const mean = y(i, p);
    sized g;
    for (std::size_t c = 0; c < v_.columns; ++c) g += mean[c] * dy_.row(i)[c];
    return g;
  }
  // The gradient of the product of query i and key j.
  sized slope(std::size_t i, std::size_t j, double p, sized g) const {
    sized d;
    for (std::size_t c = 0; c < v_.columns; ++c) d += sized::exact(dy_.row(i)[c]) * v_.row(j)[c];
    d = d * of_.factor(i, j);
    return sized{d.value - g.value, d.size + g.size} * (scale_ * p);
  }

  matrix q_, k_, v_, dy_;
  double scale_;
  allowed looks_;
  variant of_;
};

}  // namespace bench
