// SPDX-License-Identifier: Apache-2.0
// Sigmoid and SiLU, on the host and on a GPU.
#pragma once

#include "../support.hpp"

#include <cmath>

namespace recipes {

RECIPES_HD inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
RECIPES_HD inline double silu(double x) { return x * sigmoid(x); }
RECIPES_HD inline double silu_slope(double x) {
  double const s = sigmoid(x);
  return s * (1 + x * (1 - s));
}

}  // namespace recipes
