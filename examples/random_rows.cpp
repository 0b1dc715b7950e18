// SPDX-License-Identifier: Apache-2.0
// Random matrices for feature maps and rotations: Gaussian rows, and orthogonal rows of two heads.
#include <slicesort/random_rows.hpp>
#include <slicesort/view.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

int main() {
  // [snippet]
  ss::dense_matrix const gaussian = ss::random_rows{1, 2, 3}.matrix();  // seed, rows, columns

  // Four rows for each of two heads, in the tensor's own type.
  std::vector<float> data(2 * 4 * 2);
  ss::tensor3<float> const w = ss::view(data, {2, 4, 2});
  ss::random_rows{7, 2 * 4, 2, ss::row_form::orthogonal_chi}.write(w);
  // [/snippet]

  for (ss::index_t r = 0; r < gaussian.size; ++r)
    std::printf("gaussian    %8.5f %8.5f %8.5f\n", gaussian(r, 0), gaussian(r, 1), gaussian(r, 2));
  for (ss::index_t head = 0; head < 2; ++head)
    for (ss::index_t r = 0; r < 4; ++r)
      std::printf("orthogonal  %8.5f %8.5f   head %d\n", static_cast<double>(w(head, r, 0)),
                  static_cast<double>(w(head, r, 1)), static_cast<int>(head));
  float const product = w(0, 0, 0) * w(0, 1, 0) + w(0, 0, 1) * w(0, 1, 1);
  std::printf("product of the first two %.5f\n", static_cast<double>(std::abs(product)));
}

// output:
// gaussian    -0.15855  0.75529 -0.19013
// gaussian    -1.09316 -1.51243  0.99328
// orthogonal   0.51252  0.44140   head 0
// orthogonal   1.01325 -1.17649   head 0
// orthogonal   0.91326  0.32256   head 0
// orthogonal   0.46025 -1.30310   head 0
// orthogonal   0.46383 -0.35926   head 1
// orthogonal  -1.46185 -1.88740   head 1
// orthogonal   0.70576  0.73049   head 1
// orthogonal   0.27826 -0.26884   head 1
// product of the first two 0.00000
