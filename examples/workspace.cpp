// SPDX-License-Identifier: Apache-2.0
// How much workspace slicing-sort asks for: arithmetic on the shape, nothing is allocated or
// touched.
#include <slicesort/slicing_sort.hpp>

#include <cstddef>
#include <cstdio>

namespace ss = slicesort;

namespace {

template <class T>
void show(char const* type, unsigned threads, ss::extents3 shape) {
  // [snippet]
  ss::exec::host const on{threads};
  std::size_t const bytes = ss::slicing_sort<>::workspace_bytes<T>(on, shape);
  // [/snippet]
  std::printf("%-8s %7u  [%d, %d, %d] %*s%12zu\n", type, threads, static_cast<int>(shape.batch),
              static_cast<int>(shape.length), static_cast<int>(shape.channels),
              shape.length < 10000 ? 3 : 1, "", bytes);
}

}  // namespace

int main() {
  std::printf("type     threads  shape                 bytes\n");
  show<float>("float", 1, {8, 1024, 64});
  show<float>("float", 4, {8, 1024, 64});
  show<float>("float", 64, {8, 1024, 64});
  show<ss::bfloat16>("bfloat16", 1, {8, 1024, 64});
  show<double>("double", 1, {8, 1024, 64});
  show<float>("float", 1, {1, 65536, 64});
  show<float>("float", 1, {1, 65537, 64});
  show<float>("float", 1, {0, 1024, 64});
}

// output:
// type     threads  shape                 bytes
// float          1  [8, 1024, 64]          297279
// float          4  [8, 1024, 64]         1188927
// float         64  [8, 1024, 64]         4755519
// bfloat16       1  [8, 1024, 64]          264255
// double         1  [8, 1024, 64]          594495
// float          1  [1, 65536, 64]      18949311
// float          1  [1, 65537, 64]       9442495
// float          1  [0, 1024, 64]               0
