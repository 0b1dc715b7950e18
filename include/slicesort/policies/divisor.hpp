// SPDX-License-Identifier: Apache-2.0
/// Divisors of linear attention, a semantic policy of `linear_attention`: the weighted sum of a
/// query is divided by D(d), where d is the sum of its weights. If the divisor of a query is 0 or
/// subnormal, its output is 0.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

namespace divisor {

/// `d + eps` (*Transformers are RNNs*; with `eps` 0, Performer).
struct sum_plus {
  double eps = 1e-6;
};

/// `max(d, eps)` (cosFormer). If d <= eps, gradients treat the divisor as a constant.
struct at_least {
  double eps = 1e-6;
};

/// 1: the sums are not divided.
struct none {};

}  // namespace divisor

SLICESORT_TYPES_END
