// SPDX-License-Identifier: Apache-2.0
// How the learning rate changes from step to step.
#pragma once

#include <algorithm>
#include <cmath>

namespace learning {

/// With `s` the step, from 1, and `w` the steps of warm-up (at least 1):
/// - **constant** `rate min(1, s / w)`;
/// - **rsqrt** `rate min(1, s / w) / sqrt(max(s, w))` (the Long Range Arena);
/// - **cosine** `rate min(1, s / w) (1 + cos(pi s / steps)) / 2` (its images);
/// - **linear** `rate s / w`, and then down to 0 at the last step (Nystromformer, MEGA).
struct schedule {
  enum class form { constant, rsqrt, cosine, linear } shape = form::constant;
  double rate = 1e-3;
  double warmup = 1, steps = 1;

  double at(double s) const {
    constexpr double pi = 3.14159265358979323846;
    double const w = std::max(warmup, 1.0), rising = rate * std::min(1.0, s / w);
    switch (shape) {
      case form::rsqrt:
        return rising / std::sqrt(std::max(s, w));
      case form::cosine:
        return rising * (1 + std::cos(pi * std::min(1.0, s / steps))) / 2;
      case form::linear:
        return s <= w ? rising : rate * std::max(0.0, (steps - s) / std::max(1.0, steps - w));
      case form::constant:
        break;
    }
    return rising;
  }
};

}  // namespace learning
