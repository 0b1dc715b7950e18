// SPDX-License-Identifier: Apache-2.0
/// Divisors of linear attention, a semantic policy of `linear_attention`: the weighted sum of a
/// query is divided by D(d), where d is the sum of its weights. A query whose divisor is 0 or
/// subnormal gets zeros.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

namespace divisor {

/// `d + eps` (Transformers are RNNs; Performer with an eps of 0).
struct sum_plus {
  double eps = 1e-6;
};

/// `max(d, eps)` (cosFormer). Where d <= eps, gradients treat the divisor as a constant.
struct at_least {
  double eps = 1e-6;
};

/// 1: leaves the sums undivided.
struct none {};

}  // namespace divisor

SLICESORT_TYPES_END
