// SPDX-License-Identifier: Apache-2.0
/// Directions of linear attention, a semantic policy of `linear_attention`: the keys that a query
/// sees. Other masks have no linear form.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

namespace direction {

/// Every query sees every key.
struct noncausal {};
using both [[deprecated("is called direction::noncausal")]] = noncausal;

/// Query i sees keys `0 .. i`; requires as many keys as queries.
struct causal {};

}  // namespace direction

SLICESORT_TYPES_END
