// SPDX-License-Identifier: Apache-2.0
// The exception of the PTX machine.
#pragma once

#include <stdexcept>

namespace ptx {

// Thrown for an operation that a device does not support, or whose result is undefined. The message
// names the location. The first fault ends the launch.
struct fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ptx
