// SPDX-License-Identifier: Apache-2.0
// Tells the tests' main why this program cannot run here (see support/main.cpp).
#include "device.hpp"

#include <cstdlib>
#include <cstring>

namespace support {

// The operator suite runs on CUDA when the environment says so; other programs know nothing else.
char const* cannot_run() {
#if !defined(SLICESORT_TEST_NEEDS_DEVICE)
  char const* const backend = std::getenv("SLICESORT_TEST_BACKEND");
  if (backend == nullptr || std::strcmp(backend, "cuda") != 0) return nullptr;
#endif
  static std::string const why = no_device();
  return why.empty() ? nullptr : why.c_str();
}

}  // namespace support
