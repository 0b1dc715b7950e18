// SPDX-License-Identifier: Apache-2.0
// Sort a tensor along the sequence, and send a gradient back.
// [snippet]
#include <slicesort/simple.hpp>

#include <cstdio>
#include <vector>

int main() {
  // [batch 1, length 4, channels 2]: two channels, each with a sequence of four values.
  std::vector<float> const x = {3, 10, 1, 40, 2, 30, 0, 20};
  std::vector<float> const dy = {1, 1, 2, 2, 3, 3, 4, 4};

  slicesort::slicing_sort<> const op;
  auto const sorted = slicesort::simple::forward(op, x, {1, 4, 2});
  auto const dx = slicesort::simple::backward(op, dy, sorted);

  for (unsigned i = 0; i < 8; i += 2)
    std::printf("x %g %2g   y %g %2g   perm %d %d   dx %g %g\n", x[i], x[i + 1], sorted.y[i],
                sorted.y[i + 1], sorted.perm[i], sorted.perm[i + 1], dx[i], dx[i + 1]);
}
// [/snippet]

// output:
// x 3 10   y 0 10   perm 3 0   dx 4 1
// x 1 40   y 1 20   perm 1 3   dx 2 4
// x 2 30   y 2 30   perm 2 2   dx 3 3
// x 0 20   y 3 40   perm 0 1   dx 1 2
