// SPDX-License-Identifier: Apache-2.0
// The largest values of two channels and their rows, sorted and in the order of rows, and a
// gradient.
#include <slicesort/top_k.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

// Prints [rows, channels] as one line per channel.
template <class Value>
void print(char const* name, std::vector<Value> const& values, std::size_t channels) {
  for (std::size_t c = 0; c < channels; ++c) {
    std::printf("%s, channel %zu:", name, c);
    for (std::size_t i = c; i < values.size(); i += channels)
      std::printf(" %g", static_cast<double>(values[i]));
    std::printf("\n");
  }
}

}  // namespace

int main() {
  std::vector<float> const x = {5, 1, 2, 7, 4, 1, 5, 3, 3, 7};  // [batch, length, channels]
  std::vector<float> const dy = {1, 2, 3, 4, 5, 6};
  std::vector<float> values(6), dx(10);
  std::vector<std::uint16_t> rows(6);

  ss::exec::host const exec;
  ss::scratch memory;
  // [snippet]
  ss::extents3 const shape{1, 5, 2}, selected{1, 3, 2};  // [batch, length, channels]
  ss::top_k<> const largest(3);  // ss::top_k<ss::ascending> selects the smallest
  largest.forward(exec, ss::view(x, shape), ss::view(values, selected), ss::view(rows, selected),
                  memory);
  largest.backward(exec, ss::view(dy, selected), ss::view(rows, selected), ss::view(dx, shape),
                   memory);
  // [/snippet]
  print("values", values, 2);
  print("rows", rows, 2);  // of equal values the lower row comes first
  print("dx", dx, 2);

  ss::top_k<> const by_index(3, ss::top_k_output::by_index);
  by_index.forward(exec, ss::view(x, shape), ss::no_saved, ss::view(rows, selected), memory);
  print("rows by index", rows, 2);
}

// output:
// values, channel 0: 5 5 4
// values, channel 1: 7 7 3
// rows, channel 0: 0 3 2
// rows, channel 1: 1 4 3
// dx, channel 0: 1 0 5 3 0
// dx, channel 1: 0 2 0 6 4
// rows by index, channel 0: 0 2 3
// rows by index, channel 1: 1 3 4
