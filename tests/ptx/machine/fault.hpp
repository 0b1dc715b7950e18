// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace ptx {

// What a device would not do, or must not be trusted to do; the message says where. The first one
// ends the launch.
struct fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ptx
