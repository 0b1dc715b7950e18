// SPDX-License-Identifier: Apache-2.0
// Sorts four numbers. Every installation method must build and run this program.
#include <slicesort/slicesort.hpp>

#include <cstdio>

#ifdef PACKAGE_VERSION
#  define QUOTE_(x) #  x
#  define QUOTE(x) QUOTE_(x)
constexpr char package_version[] = QUOTE(PACKAGE_VERSION);
constexpr char header_version[] = QUOTE(SLICESORT_VERSION_MAJOR) "." QUOTE(
    SLICESORT_VERSION_MINOR) "." QUOTE(SLICESORT_VERSION_PATCH);
constexpr bool is_same_text(char const* a, char const* b) {
  return *a == *b && (*a == 0 || is_same_text(a + 1, b + 1));
}
static_assert(is_same_text(package_version, header_version), "CMake and version.hpp disagree");
#endif

int main() {
  namespace ss = slicesort;
  float x[] = {3, 1, 2, 0}, y[4] = {};
  alignas(64) static unsigned char memory[1 << 16];
  ss::extents3 const shape{1, 4, 1};
  ss::slicing_sort<> const op;
  ss::exec::host const exec{2};
  if (op.workspace_bytes<float>(exec, shape) > sizeof memory) return 2;
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::no_saved, memory);
  for (int i = 0; i < 4; ++i)
    if (y[i] < static_cast<float>(i) || y[i] > static_cast<float>(i)) return 1;
  std::puts("sorted");
}
