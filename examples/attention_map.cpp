// SPDX-License-Identifier: Apache-2.0
// Slicing-sort as attention: it multiplies each channel by an N x N permutation matrix, which is
// sparse, of full rank and doubly stochastic. The operator never computes the matrix; this program
// prints it, and docs/operators/pictures/draw_attention.py draws the output.
#include <slicesort/equivalent_matrix.hpp>
#include <slicesort/slicing_sort.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

int main() {
  ss::extents3 const shape{1, 8, 3};
  std::vector<float> const x_data = {
      5, 3, 8,  //
      1, 4, 2,  //
      7, 8, 5,  //
      3, 2, 7,  //
      8, 7, 1,  //
      2, 1, 4,  //
      6, 5, 3,  //
      4, 6, 6,  //
  };
  auto const x = ss::view(x_data, shape);

  for (ss::index_t c = 0; c < shape.channels; ++c) {
    std::printf("channel %d: x", static_cast<int>(c));
    for (ss::index_t n = 0; n < shape.length; ++n) std::printf(" %d", static_cast<int>(x(0, n, c)));
    std::printf("\n");
    // [snippet]
    // y[n] = sum over m of P[n][m] x[m], with a single 1 in every row and every column of P.
    ss::dense_matrix const p = ss::equivalent_matrix(ss::slicing_sort<>{}, x, 0, c);
    for (ss::index_t n = 0; n < shape.length; ++n) {
      double y = 0;
      for (ss::index_t m = 0; m < shape.length; ++m) {
        std::printf("%d ", static_cast<int>(p(n, m)));
        y += p(n, m) * static_cast<double>(x(0, m, c));
      }
      std::printf(" y %d\n", static_cast<int>(y));
    }
    // [/snippet]
  }
}

// output:
// channel 0: x 5 1 7 3 8 2 6 4
// 0 1 0 0 0 0 0 0  y 1
// 0 0 0 0 0 1 0 0  y 2
// 0 0 0 1 0 0 0 0  y 3
// 0 0 0 0 0 0 0 1  y 4
// 1 0 0 0 0 0 0 0  y 5
// 0 0 0 0 0 0 1 0  y 6
// 0 0 1 0 0 0 0 0  y 7
// 0 0 0 0 1 0 0 0  y 8
// channel 1: x 3 4 8 2 7 1 5 6
// 0 0 0 0 0 1 0 0  y 1
// 0 0 0 1 0 0 0 0  y 2
// 1 0 0 0 0 0 0 0  y 3
// 0 1 0 0 0 0 0 0  y 4
// 0 0 0 0 0 0 1 0  y 5
// 0 0 0 0 0 0 0 1  y 6
// 0 0 0 0 1 0 0 0  y 7
// 0 0 1 0 0 0 0 0  y 8
// channel 2: x 8 2 5 7 1 4 3 6
// 0 0 0 0 1 0 0 0  y 1
// 0 1 0 0 0 0 0 0  y 2
// 0 0 0 0 0 0 1 0  y 3
// 0 0 0 0 0 1 0 0  y 4
// 0 0 1 0 0 0 0 0  y 5
// 0 0 0 0 0 0 0 1  y 6
// 0 0 0 1 0 0 0 0  y 7
// 1 0 0 0 0 0 0 0  y 8
