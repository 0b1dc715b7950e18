// SPDX-License-Identifier: Apache-2.0
/// Divisors of linear attention: what the weighted sum of a query is divided by. A semantic policy
/// of `linear_attention`. Where a divisor is 0, as without any key, or so small that it is no
/// normal number, the query gets zeros.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

namespace divisor {

/// `d + eps`, where d is the sum of a query's weights (Transformers are RNNs; Performer with an
/// eps of 0).
struct sum_plus {
  double eps = 1e-6;
};

/// `max(d, eps)` (cosFormer). Where d is not above eps, the divisor counts as a constant in
/// gradients.
struct at_least {
  double eps = 1e-6;
};

/// 1: the sums as they are.
struct none {};

}  // namespace divisor

SLICESORT_TYPES_END
