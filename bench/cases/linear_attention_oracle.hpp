// SPDX-License-Identifier: Apache-2.0
// Linear attention of one head from its definition, in double, and beside every number a bound of
// what its roundings may amount to: the same sums of absolute values. Its time is proportional to
// the length: the tests' oracle computes every pair, which takes minutes at the lengths of the
// benches.
#pragma once

#include "attention_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// A feature map by its name in a policy, with w of random features.
struct feature_oracle {
  std::string name;
  matrix w;
  std::size_t channels = 0, length = 0;
  // Where rows are moved, the maxima of random_exp stay what they were: constants in gradients.
  std::vector<double> maxima_of_q = {}, maxima_of_k = {};

  bool random() const { return w.rows > 0; }
  std::size_t count() const {
    if (name == "random_fourier") return 2 * w.rows;
    if (name == "random_exp") return w.rows;
    return name == "cosine_reweighted" ? 2 * channels : channels;
  }
  // <w_f, z> of a row.
  std::vector<double> products(double const* x) const {
    double scale = 1.0;
    if (name == "random_exp") scale = std::pow(static_cast<double>(channels), -0.25);
    if (name == "random_fourier") {
      double square = 0.0;
      for (std::size_t c = 0; c < channels; ++c) square += x[c] * x[c];
      scale = 1.0 / (std::sqrt(square) + 1e-3);
    }
    std::vector<double> u(w.rows, 0.0);
    for (std::size_t f = 0; f < w.rows; ++f)
      for (std::size_t c = 0; c < channels; ++c) u[f] += w.row(f)[c] * x[c] * scale;
    return u;
  }
  // The largest of them, which random_exp's features are relative to.
  double maximum(double const* x) const {
    std::vector<double> const u = products(x);
    return *std::max_element(u.begin(), u.end());
  }
  std::vector<double> map(std::size_t row, double const* x, double maximum) const {
    std::vector<double> phi(count());
    std::vector<double> const u = products(x);
    double const r = static_cast<double>(w.rows);
    double const t =
        std::acos(-1.0) * static_cast<double>(row + 1) / static_cast<double>(2 * length);
    double square = 0.0;
    for (std::size_t c = 0; c < channels; ++c) square += x[c] * x[c];
    square /= std::sqrt(static_cast<double>(channels));
    for (std::size_t f = 0; f < phi.size(); ++f) {
      double const a = f < channels ? x[f] : x[f % channels];
      if (name == "elu_plus_one")
        phi[f] = a > 0 ? a + 1 : std::exp(a);
      else if (name == "cosine_reweighted")
        phi[f] = std::max(a, 0.0) * (f < channels ? std::cos(t) : std::sin(t));
      else if (name == "random_exp")
        phi[f] = (std::exp(u[f] - square / 2 - maximum) + 1e-6) / std::sqrt(r);
      else
        phi[f] = (f < w.rows ? std::sin(u[f]) : std::cos(u[f - w.rows])) / std::sqrt(r);
    }
    return phi;
  }
};

// y of every query.
class linear_attention_oracle {
 public:
  linear_attention_oracle(feature_oracle feature, matrix const& q, matrix const& k, matrix const& v,
                          double eps, bool causal)
      : of_(std::move(feature)), v_(v), eps_(eps) {
    std::size_t const features = of_.count(), values = v.columns;
    std::vector<sized> sums(features * values), z(features);
    double most = -std::numeric_limits<double>::infinity();
    bool const relative = of_.name == "random_exp";
    auto const of_key = [&](std::size_t j) {
      return of_.maxima_of_k.empty() ? of_.maximum(k.row(j)) : of_.maxima_of_k[j];
    };
    auto const of_query = [&](std::size_t i) {
      return of_.maxima_of_q.empty() ? of_.maximum(q.row(i)) : of_.maxima_of_q[i];
    };
    if (relative && !causal)
      for (std::size_t j = 0; j < k.rows; ++j) most = std::max(most, of_key(j));
    auto const add = [&](std::size_t j) {
      if (relative && causal) {
        double const next = std::max(most, of_key(j)), factor = std::exp(most - next);
        for (std::vector<sized>* list : {&sums, &z})
          for (sized& sum : *list) sum = sum * factor;
        most = next;
      }
      std::vector<double> const phi = of_.map(j, k.row(j), most);
      for (std::size_t f = 0; f < features; ++f) {
        z[f] += sized::exact(phi[f]);
        for (std::size_t c = 0; c < values; ++c)
          sums[f * values + c] += sized::exact(phi[f]) * v.row(j)[c];
      }
    };
    if (!causal)
      for (std::size_t j = 0; j < k.rows; ++j) add(j);
    for (std::size_t i = 0; i < q.rows; ++i) {
      if (causal) add(i);
      std::vector<double> const phi = of_.map(i, q.row(i), relative ? of_query(i) : 0.0);
      sized d;
      std::vector<sized> y(values);
      for (std::size_t f = 0; f < features; ++f) {
        d += z[f] * phi[f];
        for (std::size_t c = 0; c < values; ++c) y[c] += sums[f * values + c] * phi[f];
      }
      double const by = of_.name == "cosine_reweighted" ? std::max(d.value, eps) : d.value + eps;
      for (sized& one : y) {
        one = one * (1 / by);
        // A divisor that is a difference has lost digits.
        one.size += std::abs(one.value) * d.size / std::abs(by);
      }
      rows_.push_back(std::move(y));
    }
  }

  std::vector<sized> const& y(std::size_t i) const { return rows_[i]; }

 private:
  feature_oracle of_;
  matrix const& v_;
  double eps_;
  std::vector<std::vector<sized>> rows_;
};

}  // namespace bench
