// SPDX-License-Identifier: Apache-2.0
// Sorts four numbers. Every installation method must build and run this program.
#include <slicesort/slicesort.hpp>

#include <cstdio>

#ifdef PACKAGE_VERSION
#  define TEXT_(x) #  x
#  define TEXT(x) TEXT_(x)
constexpr char package_version[] = TEXT(PACKAGE_VERSION);
constexpr char header_version[] = TEXT(SLICESORT_VERSION_MAJOR) "." TEXT(
    SLICESORT_VERSION_MINOR) "." TEXT(SLICESORT_VERSION_PATCH);
constexpr bool same(char const* a, char const* b) {
  return *a == *b && (*a == 0 || same(a + 1, b + 1));
}
static_assert(same(package_version, header_version), "CMake and version.hpp disagree");
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
