// SPDX-License-Identifier: Apache-2.0
/// What `backward` does to its output.
#pragma once

namespace slicesort {
inline namespace v0 {

/// `overwrite`: `dx = gradient` (the default). `accumulate`: `dx += gradient`; 16-bit types add in
/// float, and a sum that is no number is one and the same NaN.
enum class grad_mode { overwrite, accumulate };

}  // namespace v0
}  // namespace slicesort
