// SPDX-License-Identifier: Apache-2.0
// Max-exchange: swaps the first maximum of each channel with one row, by default row 0.
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
  std::vector<float> const x = {3, 1, 7, 7, 0}, dy = {1, 2, 3, 4, 5};
  std::vector<float> y(5), dx(5);
  std::vector<std::uint16_t> row(1);

  // [snippet]
  ss::max_exchange const op;  // swaps with row 0; max_exchange{r} with row r
  ss::exec::host const exec;
  auto const maximum = ss::view(row, {1, 1, 1});  // std::uint16_t: each column's maximum
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), maximum);  // needs no workspace
  op.backward(exec, ss::view(dy, shape), maximum, ss::view(dx, shape));
  // [/snippet]

  print("x", x);
  print("y", y);
  print("dx", dx);
  std::printf("the maximum was row %d\n", row[0]);
}

// output:
// x   3 1 7 7 0
// y   7 1 3 7 0
// dx  3 2 1 4 5
// the maximum was row 2
