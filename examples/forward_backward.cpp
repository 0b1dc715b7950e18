// SPDX-License-Identifier: Apache-2.0
// A complete call: views of the caller's memory, two threads, a saved 16-bit permutation, and an
// accumulated gradient. Every buffer can be reused in the next step.
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

template <class T>
void print(char const* name, ss::tensor3<T> v) {
  std::printf("%s\n", name);
  for (ss::index_t b = 0; b < v.extents().batch; ++b)
    for (ss::index_t n = 0; n < v.extents().length; ++n) {
      std::printf(n == 0 ? " -" : "  ");
      for (ss::index_t c = 0; c < v.extents().channels; ++c)
        std::printf(" %3d", static_cast<int>(v(b, n, c)));
      std::printf("\n");
    }
}

}  // namespace

int main() {
  // Two samples of four rows and two channels; channels are the fastest axis.
  ss::extents3 const shape{2, 4, 2};
  std::vector<float> const x = {3, 10, 1, 40, 2, 30, 0, 20, 7, 5, 7, 6, 9, 8, 7, 7};
  std::vector<float> const dy = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> y(x.size());
  std::vector<float> dx(x.size(), 100.0f);  // gradient to accumulate into
  std::vector<std::uint16_t> perm(x.size());

  // [snippet]
  ss::slicing_sort<> const op;   // every channel ascends
  ss::exec::host const exec{2};  // two threads; `{}`: only the calling thread
  ss::scratch memory;            // grows to the size that the calls need
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::view(perm, shape), memory);
  op.backward(exec, ss::view(dy, shape), ss::view(perm, shape), ss::view(dx, shape), memory,
              ss::grad_mode::accumulate);  // dx += gradient
  // [/snippet]

  print("y: every column sorted", ss::view(y, shape));
  print("perm: the row each came from; equal values keep their order", ss::view(perm, shape));
  print("dx: dy sent back, added to 100", ss::view(dx, shape));
}

// output:
// y: every column sorted
//  -   0  10
//      1  20
//      2  30
//      3  40
//  -   7   5
//      7   6
//      7   7
//      9   8
// perm: the row each came from; equal values keep their order
//  -   3   0
//      1   3
//      2   2
//      0   1
//  -   0   0
//      1   1
//      3   3
//      2   2
// dx: dy sent back, added to 100
//  - 107 102
//    103 108
//    105 106
//    101 104
//  - 101 102
//    103 104
//    107 108
//    105 106
