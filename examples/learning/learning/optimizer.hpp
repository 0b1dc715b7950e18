// SPDX-License-Identifier: Apache-2.0
// Adam with gradient clipping and decoupled weight decay, and learning rate schedules.
#pragma once

#include "learning/context.hpp"
#include "learning/parameters.hpp"

#include <algorithm>
#include <cmath>

namespace learning {

/// Learning rate at step `s`, counted from 1, with `w` steps of warm-up (at least 1):
/// - **constant** `rate min(1, s / w)`;
/// - **rsqrt** `rate min(1, s / w) / sqrt(max(s, w))` (the Long Range Arena);
/// - **cosine** `rate min(1, s / w) (1 + cos(pi s / steps)) / 2` (its images);
/// - **linear** `rate s / w`, and then down to 0 at the last step (Nystromformer, MEGA).
struct schedule {
  enum class kind { constant, rsqrt, cosine, linear } type = kind::constant;
  double rate = 1e-3;
  double warmup = 1, steps = 1;

  double at(double s) const {
    constexpr double pi = 3.14159265358979323846;
    double const w = std::max(warmup, 1.0), warmed_up = rate * std::min(1.0, s / w);
    switch (type) {
      case kind::rsqrt:
        return warmed_up / std::sqrt(std::max(s, w));
      case kind::cosine:
        return warmed_up * (1 + std::cos(pi * std::min(1.0, s / steps))) / 2;
      case kind::linear:
        return s <= w ? warmed_up : rate * std::max(0.0, (steps - s) / std::max(1.0, steps - w));
      case kind::constant:
        break;
    }
    return warmed_up;
  }
};

/// Adam (Kingma and Ba, 2015), as in torch and the Long Range Arena:
/// `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `p -= rate m^ / (sqrt(v^) + epsilon)`, with
/// m^ and v^ divided by `1 - b^step`; then `p -= rate * decay * p` (AdamW).
struct adam {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 0;
  double clip = 0;  ///< maximum norm of all gradients together; 0: no clipping

  /// Applies update `step_index`, counted from 1, and clears the gradients. Returns their norm.
  template <class T>
  double step(context<T>& c, parameters<T>& params, std::uint64_t step_index, double rate) const {
    double const norm = norm_of(c, params);
    double const steps = static_cast<double>(step_index);
    // torch's clip_grad_norm_ avoids a division by 0 in the same way.
    double const factor = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1;
    auto const b1 = static_cast<T>(beta1), b2 = static_cast<T>(beta2);
    auto const scale = static_cast<T>(rate / (1 - std::pow(beta1, steps)));
    auto const bias = static_cast<T>(1 / std::sqrt(1 - std::pow(beta2, steps)));
    auto const eps = static_cast<T>(epsilon), decay_rate = static_cast<T>(rate * decay);
    c.each_tile(params.size(), [&](index_t first, index_t count, index_t) {
      T *const p = params.values().data(), *const g = params.gradients().data();
      T *const m = params.first_moments().data(), *const v = params.second_moments().data();
      for (index_t i = first; i < first + count; ++i) {
        T const gradient = g[i] * static_cast<T>(factor);
        m[i] = b1 * m[i] + (1 - b1) * gradient;
        v[i] = b2 * v[i] + (1 - b2) * gradient * gradient;
        p[i] -= scale * m[i] / (std::sqrt(v[i]) * bias + eps);
        p[i] -= decay_rate * p[i];
        g[i] = 0;
      }
    });
    return norm;
  }

 private:
  template <class T>
  static double norm_of(context<T>& c, parameters<T>& params) {
    memory::scope const scope(c.stack);
    index_t const tiles = c.tiles(params.size());
    double* const squares = c.template scratch<double>(tiles);
    double sum = 0;
    c.each_tile(params.size(), [&](index_t first, index_t count, index_t tile) {
      T const* const g = params.gradients().data();
      constexpr index_t lanes = 8;  // partial sums in a fixed order, which vectorizes
      double partial_sums[lanes] = {};
      for (index_t i = 0; i < count; ++i) {
        auto const value = static_cast<double>(g[first + i]);
        partial_sums[i % lanes] += value * value;
      }
      squares[tile] = 0;
      for (double const partial : partial_sums) squares[tile] += partial;
    });
    c.compute([&] {
      for (index_t tile = 0; tile < tiles; ++tile) sum += squares[tile];
    });
    return std::sqrt(sum);
  }
};

}  // namespace learning
