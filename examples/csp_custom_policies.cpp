// SPDX-License-Identifier: Apache-2.0
// User-defined shifts and alignments of CSP: a policy is a type with one member function.
#include <slicesort/csp.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

// [snippet shift]
// Shifts channel 2k by (k + 1) * step rows and channel 2k + 1 by the same number backwards.
struct alternating {
  ss::index_t step;

  // May return any integer: it is reduced modulo the length of the sample.
  ss::index_t shift(ss::index_t channel, ss::index_t /*channels*/, ss::index_t /*length*/) const {
    ss::index_t const rows = step * (channel / 2 + 1);
    return channel % 2 == 0 ? rows : -rows;
  }
  // Optional: the error that the operator reports for invalid parameters, or null.
  char const* validate(ss::index_t /*channels*/) const {
    return step > 0 ? nullptr : "alternating: step must be positive";
  }
};
// [/snippet shift]

// [snippet alignment]
// Each group is permuted into the order of its last channel.
struct last_channel {
  ss::index_t reference_channel(ss::index_t channels) const { return channels - 1; }
};
// [/snippet alignment]

namespace {

// Prints the shift of each of eight channels with 16 rows.
template <class Shift>
void draw(char const* name, Shift shift) {
  ss::extents3 const shape{1, 16, 8};
  ss::csp const op{ss::group_size{1}, shift, ss::ascending{}};
  std::vector<float> data(16 * 8);
  auto const x = ss::view(data, shape);
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, x, x, ss::no_saved, memory);  // throws if parameters are invalid

  std::printf("%-26s", name);
  for (ss::index_t c = 0; c < shape.channels; ++c)
    std::printf(" %2d", static_cast<int>(op.shift_of(c, shape, shape.length)));
  std::printf("\n");
}

}  // namespace

int main() {
  draw("none", ss::shift::none{});
  draw("linear", ss::shift::linear{});
  draw("linear_step{2}", ss::shift::linear_step{2});
  draw("per_head{2}", ss::shift::per_head{2});
  draw("modular", ss::shift::modular{});
  draw("power, layer 0 of 2", ss::shift::power{0, 2});
  draw("power, layer 1 of 2", ss::shift::power{1, 2});
  draw("power_ceil, layer 0 of 2", ss::shift::power_ceil{0, 2});
  draw("power_ceil, layer 1 of 2", ss::shift::power_ceil{1, 2});
  std::vector<std::int32_t> const table = {0, 3, -1, 5, 0, 0, 100, 8};
  draw("table", ss::shift::table{ss::view(table)});
  draw("alternating{2}", alternating{2});

  ss::extents3 const shape{1, 4, 2};
  std::vector<float> data = {1, 20, 2, 40, 3, 10, 4, 30};
  auto const x = ss::view(data, shape);
  ss::csp const op{ss::group_count{1}, ss::shift::none{}, last_channel{}};
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, x, x, ss::no_saved, memory);
  std::printf("last_channel              ");
  for (ss::index_t n = 0; n < shape.length; ++n)
    std::printf("  %g %g", static_cast<double>(x(0, n, 0)), static_cast<double>(x(0, n, 1)));
  std::printf("\n");

  try {
    draw("", ss::shift::per_head{3});
  } catch (ss::invalid_argument const& error) {
    std::printf("%s\n", error.what());
  }
}

// output:
// none                        0  0  0  0  0  0  0  0
// linear                      2  4  6  8 10 12 14  0
// linear_step{2}              0  0  2  4  6  8 10 12
// per_head{2}                 0  0  0  0  2  2  2  2
// modular                     0  1  2  3  4  5  6  7
// power, layer 0 of 2         0  0  0  1  1  2  2  3
// power, layer 1 of 2         3  4  5  7  8 10 12 15
// power_ceil, layer 0 of 2    1  2  2  2  2  3  3  4
// power_ceil, layer 1 of 2    4  5  6  7  8 10 12 14
// table                       0  3 15  5  0  0  4  8
// alternating{2}              2 14  4 12  6 10  8  8
// last_channel                2 20  4 40  1 10  3 30
// csp.forward: shift per_head: channels must be a multiple of heads (channels is 8)
