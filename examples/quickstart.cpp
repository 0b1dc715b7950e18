// SPDX-License-Identifier: Apache-2.0
// Sorts a tensor along the sequence and propagates a gradient back.
// [snippet]
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

int main() {
  ss::extents3 const shape{1, 4, 2};  // batch, length, channels
  std::vector<float> const data = {3, 1, 2, 0, 10, 40, 30, 20}, dy = {1, 1, 2, 2, 3, 3, 4, 4};
  std::vector<float> y(8), dx(8);
  std::vector<std::uint16_t> perm(8);  // source row of each value

  ss::tensor3<float const> const x(data.data(), shape, {8, 1, 4});  // strides: channel by channel
  ss::slicing_sort<> const op;
  ss::exec::host const exec;  // the calling thread; exec{4}: four threads
  ss::scratch memory;         // grows to the size that the calls need
  op.forward(exec, x, ss::view(y, shape), ss::view(perm, shape), memory);
  op.backward(exec, ss::view(dy, shape), ss::view(perm, shape), ss::view(dx, shape), memory);

  for (unsigned n = 0, i = 0; n < 4; ++n, i += 2)
    std::printf("x %g %2g   y %g %2g   perm %d %d   dx %g %g\n", data[n], data[n + 4], y[i],
                y[i + 1], perm[i], perm[i + 1], dx[i], dx[i + 1]);
}
// [/snippet]

// output:
// x 3 10   y 0 10   perm 3 0   dx 4 1
// x 1 40   y 1 20   perm 1 3   dx 2 4
// x 2 30   y 2 30   perm 2 2   dx 3 3
// x 0 20   y 3 40   perm 0 1   dx 1 2
