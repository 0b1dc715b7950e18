// SPDX-License-Identifier: Apache-2.0
// Channel-wise sample permutation: shifts each channel along the sequence, then sorts the rows of
// each group. Viewed as attention, it multiplies each channel by a permutation matrix. The values
// after `from` are the columns of the matrix's ones, row by row.
// docs/operators/pictures/draw_attention.py draws the output.
#include <slicesort/csp.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

constexpr ss::extents3 shape{1, 8, 3};

template <class Op>
void show(char const* name, Op const& op, ss::tensor3<float const> x) {
  std::vector<float> y_data(24);
  auto const y = ss::view(y_data, shape);
  std::vector<std::uint8_t> order_data(static_cast<std::size_t>(op.saved_extents(shape).size()));
  auto const order = ss::view(order_data, op.saved_extents(shape));

  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, x, y, order, memory);

  std::printf("%s, groups of %d\n", name, static_cast<int>(op.group(shape)));
  for (ss::index_t c = 0; c < shape.channels; ++c) {
    std::printf("  channel %d, shift %d: y", static_cast<int>(c),
                static_cast<int>(op.shift_of(c, shape, shape.length)));
    for (ss::index_t n = 0; n < shape.length; ++n) std::printf(" %d", static_cast<int>(y(0, n, c)));
    std::printf("  from");
    // [snippet map]
    // y[n] = x[source]: row n of channel c's matrix has its one in column `source`.
    ss::index_t const group = op.group(shape), shift = op.shift_of(c, shape, shape.length);
    for (ss::index_t n = 0; n < shape.length; ++n) {
      ss::index_t row = n;
      if (group == 2)
        row = n ^ (order(0, n / 16, c) >> n / 2 % 8 & 1);  // the pair's bit: 1 if exchanged
      else if (group > 2)
        row = n / group * group + order(0, n, c);
      ss::index_t const source = (row - shift + shape.length) % shape.length;
      std::printf(" %d", static_cast<int>(source));
    }
    // [/snippet map]
    std::printf("\n");
  }
}

}  // namespace

int main() {
  std::vector<float> const x_data = {
      5, 3, 8,  //
      1, 4, 2,  //
      7, 8, 5,  //
      3, 2, 7,  //
      8, 7, 1,  //
      2, 1, 4,  //
      6, 5, 3,  //
      4, 6, 6,  //
  };
  std::vector<float> y_data(24), dx_data(24);
  std::vector<std::uint8_t> order_data(24);
  auto const x = ss::view(x_data, shape);
  auto const y = ss::view(y_data, shape), dx = ss::view(dx_data, shape);

  // [snippet]
  ss::csp const op{ss::group_size{4}};  // csp<ss::shift::linear, ss::reference>
  auto const order = ss::view(order_data, op.saved_extents(shape));  // std::uint8_t
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, x, y, order, memory);
  op.backward(exec, y, order, dx, memory);  // moves y back to the rows of x
  // [/snippet]
  std::printf("dx is x: %s\n", dx_data == x_data ? "yes" : "no");

  // [snippet policies]
  ss::csp const shift_only{ss::group_size{1}};
  ss::csp const by_reference{ss::group_size{4}, ss::shift::linear{}, ss::reference{0}};
  ss::csp const by_channel{ss::group_size{4}, ss::shift::linear{}, ss::ascending{}};
  ss::csp const published{ss::group_size{2}, ss::shift::linear_step{2}, ss::ascending{}};
  ss::csp const complete{ss::group_count{1}, ss::shift::none{}, ss::ascending{}};
  // [/snippet policies]
  show("shift only", shift_only, x);
  show("reference", by_reference, x);
  show("ascending", by_channel, x);
  show("published code", published, x);
  show("complete", complete, x);
}

// output:
// dx is x: yes
// shift only, groups of 1
//   channel 0, shift 0: y 5 1 7 3 8 2 6 4  from 0 1 2 3 4 5 6 7
//   channel 1, shift 6: y 8 2 7 1 5 6 3 4  from 2 3 4 5 6 7 0 1
//   channel 2, shift 1: y 6 8 2 5 7 1 4 3  from 7 0 1 2 3 4 5 6
// reference, groups of 4
//   channel 0, shift 0: y 5 1 7 3 8 2 6 4  from 0 1 2 3 4 5 6 7
//   channel 1, shift 6: y 7 1 8 2 6 3 5 4  from 4 5 2 3 7 0 6 1
//   channel 2, shift 1: y 6 2 8 5 7 1 4 3  from 7 1 0 2 3 4 5 6
// ascending, groups of 4
//   channel 0, shift 3: y 2 4 5 6 1 3 7 8  from 5 7 0 6 1 3 2 4
//   channel 1, shift 6: y 1 2 7 8 3 4 5 6  from 5 3 4 2 0 1 6 7
//   channel 2, shift 1: y 2 5 6 8 1 3 4 7  from 1 2 7 0 4 6 5 3
// published code, groups of 2
//   channel 0, shift 0: y 1 5 3 7 2 8 4 6  from 1 0 3 2 5 4 7 6
//   channel 1, shift 0: y 3 4 2 8 1 7 5 6  from 0 1 3 2 5 4 6 7
//   channel 2, shift 2: y 3 6 2 8 5 7 1 4  from 6 7 1 0 2 3 4 5
// complete, groups of 8
//   channel 0, shift 0: y 1 2 3 4 5 6 7 8  from 1 5 3 7 0 6 2 4
//   channel 1, shift 0: y 1 2 3 4 5 6 7 8  from 5 3 0 1 6 7 4 2
//   channel 2, shift 0: y 1 2 3 4 5 6 7 8  from 4 1 6 5 2 7 3 0
