// SPDX-License-Identifier: Apache-2.0
// Multi-permutation: a weighted sum of the powers of one sorting permutation, with weights that
// learn.
#include <slicesort/multi_permutation.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<float> const& values) {
  std::printf("%-15s", name);
  for (float v : values) std::printf(" %5g", static_cast<double>(v));
  std::printf("\n");
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 4, 1};
  std::vector<float> x_data = {3, 1, 2, 0}, dy_data = {1, 0, 0, 0}, y_data(4), dx_data(4);
  std::vector<std::uint16_t> perm_data(4);
  ss::tensor3<float> const x(x_data.data(), shape), y(y_data.data(), shape);
  ss::tensor3<float> const dy(dy_data.data(), shape), dx(dx_data.data(), shape);
  ss::tensor3<std::uint16_t> const perm(perm_data.data(), shape);

  // [snippet]
  ss::multi_permutation<> const op(2);  // y = a1 P x + a2 P^2 x, where P x is x sorted
  ss::exec::host const on;
  std::vector<unsigned char> scratch(op.workspace_bytes<float>(on, shape));
  ss::workspace const ws{scratch.data(), scratch.size()};

  op.forward(on, x, ss::uniform_weights, y, {perm}, ws);  // 1/2 each
  print("uniform weights", y_data);

  std::vector<float> a = {0.75f, 0.25f}, da(2);
  ss::tensor1<float const> const weights(a.data(), 2);
  ss::tensor1<float> const dweights(da.data(), 2);
  op.forward(on, x, weights, y, {perm}, ws);
  op.backward(on, dy, x, weights, {perm}, dx, dweights, ws);  // without x and dweights: dx alone
  // [/snippet]
  print("own weights", y_data);
  print("dx", dx_data);
  print("dweights", da);
}

// output:
// uniform weights   1.5     1     2   1.5
// own weights      0.75     1     2  2.25
// dx               0.25     0     0  0.75
// dweights            0     3
