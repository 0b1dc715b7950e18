// SPDX-License-Identifier: Apache-2.0
// Soft sort and soft ranks of one column, with a gradient that passes to several rows.
#include <slicesort/soft_sort.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<float> const& values) {
  std::printf("%-6s", name);
  for (float v : values) std::printf(" %6.3f", static_cast<double>(v));
  std::printf("\n");
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 5, 1};
  std::vector<float> const x = {5, 1, 2, 4, 3.5F}, dy = {1, 0, 0, 0, 0};
  std::vector<float> y(5), ranks(5), dx(5);
  std::vector<std::uint16_t> rows(5), first_rows(5);

  // [snippet]
  ss::soft_sort const sort(1.0);  // strength; or (1.0, ss::regularization::entropic{})
  ss::soft_rank const rank(1.0);
  ss::exec::host const exec;
  ss::scratch memory;
  auto const perm = ss::view(rows, shape), pools = ss::view(first_rows, shape);
  rank.forward(exec, ss::view(x, shape), ss::view(ranks, shape), ss::no_saved, memory);
  sort.forward(exec, ss::view(x, shape), ss::view(y, shape), {perm, pools}, memory);
  sort.backward(exec, ss::view(dy, shape), ss::view(x, shape), {perm, pools}, ss::view(dx, shape),
                memory);
  // [/snippet]

  print("x", x);
  print("y", y);
  print("dx", dx);
  print("ranks", ranks);
}

// output:
// x       5.000  1.000  2.000  4.000  3.500
// y       1.167  2.167  3.167  4.000  5.000
// dx      0.000  0.333  0.333  0.000  0.333
// ranks   4.833  1.000  2.000  3.833  3.333
