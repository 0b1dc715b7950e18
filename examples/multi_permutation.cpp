// SPDX-License-Identifier: Apache-2.0
// Multi-permutation: a sum of the powers of a sorting permutation with learned weights.
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
  std::vector<float> const x_data = {3, 1, 2, 0}, dy = {1, 0, 0, 0};
  std::vector<float> const a = {0.75f, 0.25f};
  std::vector<float> y_data(4), dx(4), da(2);
  std::vector<std::uint16_t> perm_data(4);
  auto const x = ss::view(x_data, shape);
  auto const y = ss::view(y_data, shape);
  auto const perm = ss::view(perm_data, shape);

  // [snippet]
  ss::multi_permutation<> const op(2);  // y = a1 P x + a2 P^2 x, where P x is x sorted
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, x, ss::view(a), y, perm, memory);
  op.backward(exec, ss::view(dy, shape), x, ss::view(a), perm, ss::view(dx, shape), ss::view(da),
              memory);  // without x and da: dx alone
  // [/snippet]
  print("learned weights", y_data);
  print("dx", dx);
  print("dweights", da);

  // [snippet uniform]
  op.forward(exec, x, ss::uniform_weights, y, perm, memory);  // 1/2 each
  // [/snippet uniform]
  print("uniform weights", y_data);
}

// output:
// learned weights  0.75     1     2  2.25
// dx               0.25     0     0  0.75
// dweights            0     3
// uniform weights   1.5     1     2   1.5
