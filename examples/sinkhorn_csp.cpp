// SPDX-License-Identifier: Apache-2.0
// Relaxed CSP: approaches the permutation as tau falls. The reference channel has a gradient too.
#include <slicesort/csp.hpp>
#include <slicesort/sinkhorn_csp.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<double> const& values, std::size_t channel) {
  std::printf("%-9s", name);
  for (std::size_t n = 0; n < 4; ++n)
    std::printf(" %6.3f", std::round(1000 * values[2 * n + channel]) / 1000 + 0.0);
  std::printf("\n");
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 4, 2};
  // Channel 0 is the reference; channel 1 takes its order.
  std::vector<double> x_data = {0, 1, 2, 3, -1, 2, 1, 0}, dy_data = {0, 0, 0, 1, 0, 0, 0, 0};
  std::vector<double> y_data(8), dx_data(8);
  auto const x = ss::view(x_data, shape), y = ss::view(y_data, shape);
  auto const dy = ss::view(dy_data, shape), dx = ss::view(dx_data, shape);

  print("reference", x_data, 0);
  print("x", x_data, 1);
  for (double tau : {2.0, 0.5, 0.1}) {
    // [snippet]
    // One group of all rows, 1000 iterations; no channel is shifted.
    ss::sinkhorn_csp const op{ss::group_count{1}, ss::sinkhorn{tau, 1000}, ss::shift::none{}};
    ss::exec::host const exec;
    ss::scratch memory;
    op.forward(exec, x, y, memory);
    op.backward(exec, dy, x, dx, memory);  // needs x, but no saved state
    // [/snippet]
    std::printf("tau %g\n", tau);
    print("y", y_data, 1);
    print("dx", dx_data, 1);
    print("dx of ref", dx_data, 0);
  }

  ss::csp const hard{ss::group_count{1}, ss::shift::none{}, ss::reference{0}};
  ss::scratch memory;
  hard.forward(ss::exec::host{}, x, y, ss::no_saved, memory);
  print("csp", y_data, 1);
}

// output:
// reference  0.000  2.000 -1.000  1.000
// x          1.000  3.000  2.000  0.000
// tau 2
// y          1.224  2.248  0.752  1.776
// dx         0.040  0.683  0.318 -0.042
// dx of ref -0.098  0.278 -0.051 -0.128
// tau 0.5
// y          0.989  2.740  0.260  2.011
// dx        -0.017  0.960  0.055  0.002
// dx of ref -0.006  0.230  0.001 -0.226
// tau 0.1
// y          1.000  2.993  0.007  2.000
// dx         0.000  1.026 -0.027  0.000
// dx of ref  0.000  0.033  0.000 -0.033
// csp        1.000  3.000  0.000  2.000
