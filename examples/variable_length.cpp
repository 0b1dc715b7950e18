// SPDX-License-Identifier: Apache-2.0
// A padded batch: `lengths[b]` rows of sample b are valid. Padding of x and of the gradient is
// copied to the output and does not affect other rows.
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

template <class T>
void print(char const* name, ss::tensor3<T> v) {
  std::printf("%s", name);
  for (ss::index_t b = 0; b < v.extents().batch; ++b) {
    std::printf(b == 0 ? " [" : " ] [");
    for (ss::index_t n = 0; n < v.extents().length; ++n)
      std::printf(" %d", static_cast<int>(v(b, n, 0)));
  }
  std::printf(" ]\n");
}

}  // namespace

int main() {
  ss::extents3 const shape{3, 5, 1};
  std::vector<float> x_data = {5, 4, 3, 2, 1, /**/ 9, 8, 7, -1, -1, /**/ 6, -1, -1, -1, -1};
  std::vector<float> dy_data = {1, 2, 3, 4, 5, /**/ 1, 2, 3, 4, 5, /**/ 1, 2, 3, 4, 5};
  std::vector<float> y_data(x_data.size()), dx_data(x_data.size());
  std::vector<std::uint16_t> perm_data(x_data.size());
  auto const x = ss::view(x_data, shape), y = ss::view(y_data, shape);
  auto const dy = ss::view(dy_data, shape), dx = ss::view(dx_data, shape);
  auto const perm = ss::view(perm_data, shape);

  ss::exec::host const exec;
  ss::slicing_sort<> const op;
  ss::scratch memory;

  // [snippet]
  std::vector<ss::index_t> const rows = {5, 3, 1};  // valid rows per sample
  op.forward(exec, x, y, perm, memory, ss::lengths(rows));
  op.backward(exec, dy, perm, dx, memory, ss::lengths(rows));
  // [/snippet]

  print("x   ", x);
  print("y   ", y);
  print("perm", perm);
  print("dx  ", dx);
}

// output:
// x    [ 5 4 3 2 1 ] [ 9 8 7 -1 -1 ] [ 6 -1 -1 -1 -1 ]
// y    [ 1 2 3 4 5 ] [ 7 8 9 -1 -1 ] [ 6 -1 -1 -1 -1 ]
// perm [ 4 3 2 1 0 ] [ 2 1 0 3 4 ] [ 0 1 2 3 4 ]
// dx   [ 5 4 3 2 1 ] [ 3 2 1 4 5 ] [ 1 2 3 4 5 ]
