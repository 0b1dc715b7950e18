// SPDX-License-Identifier: Apache-2.0
/// Directions of linear attention: which keys a query looks at. A semantic policy of
/// `linear_attention`, which has no linear form of other masks.
#pragma once

namespace slicesort {
inline namespace v0 {
namespace direction {

/// Every query looks at every key.
struct both {};

/// Query i looks at keys `0 .. i`; there are as many keys as queries.
struct causal {};

}  // namespace direction
}  // namespace v0
}  // namespace slicesort
