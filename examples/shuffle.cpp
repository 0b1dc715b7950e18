// SPDX-License-Identifier: Apache-2.0
// Shuffle: permutes rows randomly. The order depends on the seed alone, not on the machine.
#include <slicesort/shuffle.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, ss::tensor3<float> v) {
  std::printf("%s\n", name);
  for (ss::index_t c = 0; c < v.extents().channels; ++c) {
    std::printf("  channel %d:", static_cast<int>(c));
    for (ss::index_t n = 0; n < v.extents().length; ++n)
      std::printf(" %d", static_cast<int>(v(0, n, c)));
    std::printf("\n");
  }
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 8, 2};
  std::vector<float> x_data, y_data(16), dx_data(16);
  for (int row = 0; row < 8; ++row) x_data.insert(x_data.end(), 2, static_cast<float>(row));
  auto const x = ss::view(x_data, shape), y = ss::view(y_data, shape),
             dx = ss::view(dx_data, shape);

  // [snippet]
  ss::shuffle<ss::per_channel> const op(2024);  // seed; shuffle<>: one order for all channels
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, x, y, memory);
  op.backward(exec, y, dx, memory);  // needs no saved state: the seed defines the order
  // [/snippet]
  print("per_channel", y);
  print("and back", dx);

  ss::shuffle<ss::shared_by_channels>(2024).forward(exec, x, y, memory);
  print("shared_by_channels", y);
}

// output:
// per_channel
//   channel 0: 7 4 2 6 1 0 3 5
//   channel 1: 5 7 4 2 1 0 3 6
// and back
//   channel 0: 0 1 2 3 4 5 6 7
//   channel 1: 0 1 2 3 4 5 6 7
// shared_by_channels
//   channel 0: 7 4 2 6 1 0 3 5
//   channel 1: 7 4 2 6 1 0 3 5
