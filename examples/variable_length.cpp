// SPDX-License-Identifier: Apache-2.0
// A padded batch: `lengths[b]` rows of sample b are valid. The padding takes no part, whatever it
// holds, and is copied through; so is its gradient.
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
  ss::tensor3<float> const x(x_data.data(), shape), y(y_data.data(), shape);
  ss::tensor3<float> const dy(dy_data.data(), shape), dx(dx_data.data(), shape);
  ss::tensor3<std::uint16_t> const perm(perm_data.data(), shape);

  ss::exec::host const on;
  ss::slicing_sort<> const op;
  std::vector<unsigned char> scratch(op.workspace_bytes<float>(on, shape));
  ss::workspace const ws{scratch.data(), scratch.size()};

  // [snippet]
  std::vector<ss::index_t> const valid = {5, 3, 1};
  ss::tensor1<ss::index_t const> const lengths(valid.data(), 3);

  op.forward(on, x, y, {perm}, ws, {lengths});
  op.backward(on, dy, {perm}, dx, ws, {ss::grad_mode::overwrite, lengths});
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
