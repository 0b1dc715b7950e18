// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace ptx {

// An operation that a device does not support, or whose result is undefined. The message names the
// place. The first fault ends the launch.
struct fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ptx
