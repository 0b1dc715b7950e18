// SPDX-License-Identifier: Apache-2.0
// Max-exchange: in every channel the first maximum changes places with one row, by default the
// first.
#include <slicesort/max_exchange.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<float> const& values) {
  std::printf("%-3s", name);
  for (float v : values) std::printf(" %g", static_cast<double>(v));
  std::printf("\n");
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 5, 1};
  std::vector<float> x_data = {3, 1, 7, 7, 0}, dy_data = {1, 2, 3, 4, 5}, y_data(5), dx_data(5);
  std::vector<std::uint16_t> maximum_data(1);
  ss::tensor3<float> const x(x_data.data(), shape), y(y_data.data(), shape);
  ss::tensor3<float> const dy(dy_data.data(), shape), dx(dx_data.data(), shape);

  // [snippet]
  // One row per column is all that backward needs: where the maximum was.
  ss::tensor3<std::uint16_t> const maximum(maximum_data.data(), {1, 1, 1});

  ss::max_exchange const op;  // max_exchange{row} exchanges with another row
  ss::exec::host const on;
  op.forward(on, x, y, {maximum});  // needs no workspace
  op.backward(on, dy, {maximum}, dx);
  // [/snippet]

  print("x", x_data);
  print("y", y_data);
  print("dx", dx_data);
  std::printf("the maximum was row %d\n", maximum_data[0]);
}

// output:
// x   3 1 7 7 0
// y   7 1 3 7 0
// dx  3 2 1 4 5
// the maximum was row 2
