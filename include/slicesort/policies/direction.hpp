// SPDX-License-Identifier: Apache-2.0
/// Directions of linear attention: which keys a query looks at. A semantic policy of
/// `linear_attention`, which has no linear form of other masks.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

namespace direction {

/// Every query looks at every key.
struct noncausal {};
using both [[deprecated("is called direction::noncausal")]] = noncausal;

/// Query i looks at keys `0 .. i`; there are as many keys as queries.
struct causal {};

}  // namespace direction

SLICESORT_TYPES_END
