// SPDX-License-Identifier: Apache-2.0
// Tells support/main.cpp why this program cannot run.
#include "device.hpp"

#include <cstdlib>
#include <cstring>

namespace support {

// Operator tests require a device only if SLICESORT_TEST_BACKEND is cuda; CUDA tests always do.
char const* cannot_run() {
#if !defined(SLICESORT_TEST_NEEDS_DEVICE)
  char const* const backend = std::getenv("SLICESORT_TEST_BACKEND");
  if (backend == nullptr || std::strcmp(backend, "cuda") != 0) return nullptr;
#endif
  static std::string const reason = no_device();
  return reason.empty() ? nullptr : reason.c_str();
}

}  // namespace support
