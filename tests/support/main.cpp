// SPDX-License-Identifier: Apache-2.0
// doctest's main, compiled once for every test program.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace support {
// Optional hook of programs with special requirements; returns the missing one, or null.
#if defined(__GNUC__)
__attribute__((weak))
#endif
char const*
cannot_run();
}  // namespace support

int main(int argc, char** argv) {
  constexpr int skipped = 77;  // CTest's SKIP_RETURN_CODE
  doctest::Context context(argc, argv);
  char const* const missing = support::cannot_run != nullptr ? support::cannot_run() : nullptr;
  if (missing == nullptr) return context.run();
  context.addFilter("test-case-exclude", "*");  // so that doctest counts skipped cases
  context.run();
  std::printf("skipped: %s\n", missing);
  return skipped;
}
