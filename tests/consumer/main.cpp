// SPDX-License-Identifier: Apache-2.0
// Shuffles four numbers. Every installation method must build and run this program. With
// CONSUMER_SORTS it sorts them again, which takes several times as long to compile.
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
  float const x[] = {0, 1, 2, 3};
  float y[4] = {};
  alignas(64) static unsigned char memory[1 << 16];
  ss::extents3 const shape{1, 4, 1};
  ss::shuffle<> const op{7};
  ss::exec::host const exec{2};
  if (op.workspace_bytes<float>(exec, shape) > sizeof memory) return 2;
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), memory);
  unsigned found = 0;
  for (float value : y) found |= 1u << static_cast<unsigned>(value);
  if (found != 0xf) return 1;
#ifdef CONSUMER_SORTS
  float sorted[4] = {};
  ss::slicing_sort<>{}.forward(exec, ss::view(y, shape), ss::view(sorted, shape), ss::no_saved,
                               memory);
  for (int i = 0; i < 4; ++i)
    if (static_cast<int>(sorted[i]) != i) return 1;
#endif
  std::puts("shuffled");
}
