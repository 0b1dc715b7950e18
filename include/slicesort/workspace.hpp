// SPDX-License-Identifier: Apache-2.0
/// Scratch memory that the caller lends to one call.
#pragma once

#include <cstddef>

namespace slicesort {
inline namespace v0 {

/// Any address, any contents; at least as many bytes as the operator's `workspace_bytes` says. It
/// is dead when the call's work is done and may serve the next call. `{}` is legal when that size
/// is 0.
struct workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

}  // namespace v0
}  // namespace slicesort
