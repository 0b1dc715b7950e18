// SPDX-License-Identifier: Apache-2.0
// Sinkhorn's algorithm: logits become a matrix whose rows and columns sum to 1, with the gradient
// of the logits.
#include <slicesort/sinkhorn.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<float> const& matrix) {
  std::printf("%s\n", name);
  for (std::size_t k = 0; k < matrix.size(); ++k)
    std::printf("%8.4f%s", static_cast<double>(matrix[k]), k % 3 == 2 ? "\n" : "");
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 3, 3};
  std::vector<float> const logits = {2, 1, 0, 0, 2, 1, 1, 0, 2}, dy = {1, 0, 0, 0, 0, 0, 0, 0, 0};
  std::vector<float> y(9), dlogits(9);

  // [snippet]
  ss::sinkhorn const op{1.0, 10};  // temperature 1; rows, then columns, 10 times
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, ss::view(logits, shape), ss::view(y, shape), memory);
  op.backward(exec, ss::view(dy, shape), ss::view(logits, shape), ss::view(dlogits, shape), memory);
  // [/snippet]

  print("y", y);
  print("dlogits", dlogits);
}

// output:
// y
//   0.6652  0.2447  0.0900
//   0.0900  0.6652  0.2447
//   0.2447  0.0900  0.6652
// dlogits
//   0.1142 -0.0742 -0.0399
//  -0.0399  0.0543 -0.0143
//  -0.0742  0.0200  0.0543
