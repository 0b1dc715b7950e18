// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

namespace ptx {

// While it lives, this thread rounds to nearest and knows subnormal numbers, as a device does: a
// program that is linked with -ffast-math begins without them.
class device_rounding {
 public:
  device_rounding() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~device_rounding() { std::fesetenv(&before_); }
  device_rounding(device_rounding const&) = delete;
  device_rounding& operator=(device_rounding const&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace ptx
