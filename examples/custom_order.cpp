// SPDX-License-Identifier: Apache-2.0
// User-defined order: a type that selects the ascending channels. It is a template parameter of the
// operator, because it changes the result.
#include <slicesort/slicing_sort.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

// [snippet]
// Sorts the first `count` channels in ascending order and the rest in descending order.
struct first_channels_ascend {
  ss::index_t count;

  bool ascending(ss::index_t channel, ss::index_t /*channels*/) const { return channel < count; }

  // Optional: the error that the operator reports for invalid parameters, or null.
  char const* validate(ss::index_t channels) const {
    return count >= 0 && count <= channels ? nullptr : "first_channels_ascend: count out of range";
  }
};
// [/snippet]

namespace {

// Sorts eight equal columns 1 2 3 and prints each channel as '^' (ascending) or 'v' (descending).
template <class Order>
void draw(char const* name, Order order) {
  ss::extents3 const shape{1, 3, 8};
  std::vector<float> data;
  for (int row = 1; row <= 3; ++row) data.insert(data.end(), 8, static_cast<float>(row));
  auto const x = ss::view(data, shape);

  ss::exec::host const exec;
  ss::slicing_sort<Order> const op(order);
  ss::scratch memory;
  op.forward(exec, x, x, ss::no_saved, memory);  // in place, no backward

  std::printf("%-31s", name);
  for (ss::index_t c = 0; c < shape.channels; ++c)
    std::printf(" %c", x(0, 0, c) < x(0, 2, c) ? '^' : 'v');
  std::printf("\n");
}

}  // namespace

int main() {
  draw("ascending", ss::ascending{});
  draw("descending", ss::descending{});
  draw("half_half, one head", ss::half_half{1});
  draw("half_half, two heads", ss::half_half{2});
  draw("interleave, layer 1 of 3", ss::interleave{1, 3});
  draw("interleave, layer 2 of 3", ss::interleave{2, 3});
  draw("interleave, layer 3 of 3", ss::interleave{3, 3});
  draw("haar_interleave, level 2", ss::haar_interleave{2});
  draw("first_channels_ascend, 3", first_channels_ascend{3});

  try {
    draw("", first_channels_ascend{9});
  } catch (ss::invalid_argument const& error) {
    std::printf("%s\n", error.what());
  }
}

// output:
// ascending                       ^ ^ ^ ^ ^ ^ ^ ^
// descending                      v v v v v v v v
// half_half, one head             ^ ^ ^ ^ v v v v
// half_half, two heads            ^ ^ v v ^ ^ v v
// interleave, layer 1 of 3        ^ ^ v ^ ^ ^ v ^
// interleave, layer 2 of 3        ^ ^ ^ ^ v v v ^
// interleave, layer 3 of 3        ^ ^ ^ ^ ^ ^ ^ ^
// haar_interleave, level 2        ^ ^ v v ^ ^ v v
// first_channels_ascend, 3        ^ ^ ^ v v v v v
// slicing_sort.forward: order first_channels_ascend: count out of range (channels is 8)
