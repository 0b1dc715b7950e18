// SPDX-License-Identifier: Apache-2.0
// Short convolution: each channel is filtered along the length, here by the row and those before
// it, with gradients of the input and of the filter.
#include <slicesort/short_convolution.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<float> const& values) {
  std::printf("%-8s", name);
  for (float v : values) std::printf(" %g", static_cast<double>(v));
  std::printf("\n");
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 5, 1};
  std::vector<float> const x = {1, 2, 3, 4, 5}, dy = {1, 1, 1, 1, 1}, filter = {0.5F, 0, -1};
  std::vector<float> y(5), dx(5), filter_gradient(3);

  // [snippet]
  auto const op = ss::short_convolution::causal(3);  // y[n] = w[0] x[n-2] + w[1] x[n-1] + w[2] x[n]
  ss::exec::host const exec;
  ss::scratch memory;
  auto const weights = ss::view(filter, {1, 3, 1});  // [1, taps, groups of channels]
  op.forward(exec, ss::view(x, shape), weights, ss::view(y, shape), memory);
  op.backward(exec, ss::view(dy, shape), ss::view(x, shape), weights, ss::view(dx, shape),
              ss::view(filter_gradient, {1, 3, 1}), memory);
  // [/snippet]

  print("y", y);
  print("dx", dx);
  print("dweights", filter_gradient);
}

// output:
// y        -1 -2 -2.5 -3 -3.5
// dx       -0.5 -0.5 -0.5 -1 -1
// dweights 6 10 15
