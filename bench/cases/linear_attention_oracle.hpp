// SPDX-License-Identifier: Apache-2.0
// Oracle of linear attention for one head, in double, with sums of absolute values that bound the
// rounding errors. Takes time linear in the length; the tests' oracle computes every pair.
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

// A feature map, by its name in a policy.
struct feature_oracle {
  std::string name;
  matrix w;
  std::size_t channels = 0, length = 0;
  // Maxima that random_exp subtracts, held constant for finite differences; else empty.
  std::vector<double> q_maxima = {}, k_maxima = {};

  bool is_random() const { return w.rows > 0; }
  std::size_t count() const {
    if (name == "random_fourier") return 2 * w.rows;
    if (name == "random_exp") return w.rows;
    return name == "cosine_reweighted" ? 2 * channels : channels;
  }
  // Projections <w_f, z> for every f, where z is the scaled row x.
  std::vector<double> project(double const* x) const {
    double scale = 1.0;
    if (name == "random_exp") scale = std::pow(static_cast<double>(channels), -0.25);
    if (name == "random_fourier") {
      double square = 0.0;
      for (std::size_t c = 0; c < channels; ++c) square += x[c] * x[c];
      scale = 1.0 / (std::sqrt(square) + 1e-3);
    }
    std::vector<double> projections(w.rows, 0.0);
    for (std::size_t f = 0; f < w.rows; ++f)
      for (std::size_t c = 0; c < channels; ++c) projections[f] += w.row(f)[c] * x[c] * scale;
    return projections;
  }
  // The largest projection, which random_exp subtracts.
  double maximum(double const* x) const {
    std::vector<double> const projections = project(x);
    return *std::max_element(projections.begin(), projections.end());
  }
  std::vector<double> map(std::size_t row, double const* x, double maximum) const {
    std::vector<double> phi(count());
    std::vector<double> const projections = project(x);
    double const w_rows = static_cast<double>(w.rows);
    double const angle =
        std::acos(-1.0) * static_cast<double>(row + 1) / static_cast<double>(2 * length);
    double square = 0.0;
    for (std::size_t c = 0; c < channels; ++c) square += x[c] * x[c];
    square /= std::sqrt(static_cast<double>(channels));
    for (std::size_t f = 0; f < phi.size(); ++f) {
      double const value = f < channels ? x[f] : x[f % channels];
      if (name == "elu_plus_one")
        phi[f] = value > 0 ? value + 1 : std::exp(value);
      else if (name == "cosine_reweighted")
        phi[f] = std::max(value, 0.0) * (f < channels ? std::cos(angle) : std::sin(angle));
      else if (name == "random_exp")
        phi[f] = (std::exp(projections[f] - square / 2 - maximum) + 1e-6) / std::sqrt(w_rows);
      else
        phi[f] = (f < w.rows ? std::sin(projections[f]) : std::cos(projections[f - w.rows])) /
                 std::sqrt(w_rows);
    }
    return phi;
  }
};

class linear_attention_oracle {
 public:
  linear_attention_oracle(feature_oracle feature, matrix const& q, matrix const& k, matrix const& v,
                          double eps, bool is_causal)
      : feature_(std::move(feature)), v_(v), eps_(eps) {
    std::size_t const features = feature_.count(), value_channels = v.columns;
    std::vector<tracked_sum> kv_sums(features * value_channels), phi_sums(features);
    double maximum = -std::numeric_limits<double>::infinity();
    bool const subtracts_maximum = feature_.name == "random_exp";
    auto const key_maximum = [&](std::size_t j) {
      return feature_.k_maxima.empty() ? feature_.maximum(k.row(j)) : feature_.k_maxima[j];
    };
    auto const query_maximum = [&](std::size_t i) {
      return feature_.q_maxima.empty() ? feature_.maximum(q.row(i)) : feature_.q_maxima[i];
    };
    if (subtracts_maximum && !is_causal)
      for (std::size_t j = 0; j < k.rows; ++j) maximum = std::max(maximum, key_maximum(j));
    auto const add = [&](std::size_t j) {
      if (subtracts_maximum && is_causal) {
        double const new_maximum = std::max(maximum, key_maximum(j)),
                     factor = std::exp(maximum - new_maximum);
        for (std::vector<tracked_sum>* list : {&kv_sums, &phi_sums})
          for (tracked_sum& sum : *list) sum = sum * factor;
        maximum = new_maximum;
      }
      std::vector<double> const phi = feature_.map(j, k.row(j), maximum);
      for (std::size_t f = 0; f < features; ++f) {
        phi_sums[f] += tracked_sum::exact(phi[f]);
        for (std::size_t c = 0; c < value_channels; ++c)
          kv_sums[f * value_channels + c] += tracked_sum::exact(phi[f]) * v.row(j)[c];
      }
    };
    if (!is_causal)
      for (std::size_t j = 0; j < k.rows; ++j) add(j);
    for (std::size_t i = 0; i < q.rows; ++i) {
      if (is_causal) add(i);
      std::vector<double> const phi =
          feature_.map(i, q.row(i), subtracts_maximum ? query_maximum(i) : 0.0);
      tracked_sum phi_dot;  // <phi(q_i), sum of phi(k_j)>
      std::vector<tracked_sum> y(value_channels);
      for (std::size_t f = 0; f < features; ++f) {
        phi_dot += phi_sums[f] * phi[f];
        for (std::size_t c = 0; c < value_channels; ++c)
          y[c] += kv_sums[f * value_channels + c] * phi[f];
      }
      double const divisor =
          feature_.name == "cosine_reweighted" ? std::max(phi_dot.value, eps) : phi_dot.value + eps;
      for (tracked_sum& value : y) {
        value = value * (1 / divisor);
        // A divisor that suffered cancellation has a larger relative error.
        value.magnitude += std::abs(value.value) * phi_dot.magnitude / std::abs(divisor);
      }
      rows_.push_back(std::move(y));
    }
  }

  std::vector<tracked_sum> const& y(std::size_t i) const { return rows_[i]; }

 private:
  feature_oracle feature_;
  matrix const& v_;
  double eps_;
  std::vector<std::vector<tracked_sum>> rows_;
};

}  // namespace bench
