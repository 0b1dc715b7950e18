// SPDX-License-Identifier: Apache-2.0
// Workspace sizes: queries the size first, so that the call allocates nothing, and prints the sizes
// of other shapes. A query only does arithmetic and reads no tensor.
#include <slicesort/slicing_sort.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

template <class T>
void show(char const* type, unsigned threads, ss::extents3 shape) {
  std::size_t const bytes = ss::slicing_sort<>::workspace_bytes<T>(ss::exec::host{threads}, shape);
  std::printf("%-8s %7u  [%d, %d, %d] %*s%12zu\n", type, threads, static_cast<int>(shape.batch),
              static_cast<int>(shape.length), static_cast<int>(shape.channels),
              shape.length < 10000 ? 3 : 1, "", bytes);
}

}  // namespace

int main() {
  std::vector<float> data = {3, 1, 2, 0};
  auto const x = ss::view(data, {1, 4, 1});
  // [snippet]
  ss::slicing_sort<> const op;
  ss::exec::host const exec;
  std::vector<std::byte> memory(op.workspace_bytes(exec, x));
  op.forward(exec, x, x, ss::no_saved, memory);  // allocates nothing
  // [/snippet]
  std::printf("sorted: %g %g %g %g\n\n", data[0], data[1], data[2], data[3]);

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
// sorted: 0 1 2 3
//
// type     threads  shape                 bytes
// float          1  [8, 1024, 64]          297279
// float          4  [8, 1024, 64]         1188927
// float         64  [8, 1024, 64]         4755519
// bfloat16       1  [8, 1024, 64]          264255
// double         1  [8, 1024, 64]          594495
// float          1  [1, 65536, 64]      18949311
// float          1  [1, 65537, 64]       9442495
// float          1  [0, 1024, 64]               0
