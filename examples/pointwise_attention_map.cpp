// SPDX-License-Identifier: Apache-2.0
// The weights of softmax attention, of MEGA's Laplace function and of the squared ReLU as matrices.
// docs/operators/pictures/draw_pointwise_attention.py draws the output.
#include <slicesort/exec.hpp>
#include <slicesort/pointwise_attention.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/view.hpp>
#include <slicesort/workspace.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

constexpr ss::index_t rows = 16, channels = 4;

// Prints the weights of x with itself in percent: row i has those of query i. Softmax attention
// takes a state for backward, which is left out (`saved`).
template <class Op, class... Saved>
void print_map(char const* name, std::vector<double> const& x_data, Op const& op, Saved... saved) {
  // [snippet]
  // Key j has a 1 in channel j of its value, so y[i, j] is the weight of key j for query i.
  std::vector<double> identity(static_cast<std::size_t>(rows * rows)), map(identity.size());
  for (std::size_t n = 0; n < map.size(); n += rows + 1) identity[n] = 1;
  ss::extents4 const values{1, 1, rows, rows};
  auto const x = ss::view(x_data, {1, 1, rows, channels});
  ss::scratch memory;
  op.forward(ss::exec::host{}, {x, x, ss::view(identity, values), {}}, ss::view(map, values),
             saved..., memory);
  // [/snippet]
  std::printf("%s\n", name);
  for (ss::index_t i = 0; i < rows; ++i) {
    for (ss::index_t j = 0; j < rows; ++j)
      std::printf("%4ld", std::lround(100 * map[static_cast<std::size_t>(i * rows + j)]));
    std::printf("\n");
  }
}

}  // namespace

int main() {
  // Slow rotations: neighboring rows are similar, and so are rows a period apart.
  std::vector<double> x;
  for (ss::index_t i = 0; i < rows; ++i)
    for (double const frequency : {0.6, 1.2})
      for (double const phase : {0.0, 1.5})
        x.push_back(std::cos(frequency * static_cast<double>(i) + phase));
  print_map("softmax", x, ss::softmax_attention<>{}, ss::no_saved);
  print_map("laplace", x, ss::pointwise_attention<>{});
  print_map("squared_relu", x, ss::pointwise_attention{ss::score_function::squared_relu{}});
}

// output:
// softmax
//   14   9   4   3   4   5   4   3   3   7  13  12   6   3   3   5
//    9  13   9   4   3   4   5   5   3   3   6  12  12   6   3   3
//    4   9  14   9   4   3   4   5   4   3   3   6  12  12   6   3
//    3   4   9  13   9   4   3   4   5   4   3   3   6  12  12   6
//    4   3   4   9  14  10   4   3   3   5   4   3   3   6  12  13
//    5   4   3   5  10  15   9   4   3   4   5   5   3   3   7  14
//    5   6   5   4   5  11  15  10   5   3   4   6   5   4   4   7
//    4   6   6   5   3   5  11  17  11   5   3   5   6   6   4   4
//    4   4   6   6   4   3   5  11  17  11   5   4   5   6   5   4
//    8   4   3   5   6   4   3   5  11  16  11   5   3   4   6   5
//   14   7   3   3   5   5   4   3   5  10  15  10   4   3   4   5
//   12  12   6   3   3   4   5   4   3   5   9  13   9   4   3   4
//    6  12  12   6   3   3   4   5   4   3   4   9  13   9   4   3
//    3   6  12  12   6   3   3   5   5   3   3   4   9  13   9   4
//    3   3   6  12  12   7   3   3   4   5   4   3   4   9  13   9
//    5   3   3   6  13  13   6   3   3   4   5   4   3   4  10  15
// laplace
//   85  28   0   0   0   1   0   0   0   7  79  69   2   0   0   0
//   28  80  32   0   0   0   1   0   0   0   3  68  68   3   0   0
//    0  32  86  35   0   0   0   1   0   0   0   3  75  74   3   0
//    0   0  35  84  34   0   0   0   0   0   0   0   5  75  71   3
//    0   0   0  34  88  43   0   0   0   0   0   0   0   4  78  79
//    1   0   0   0  43  88  31   0   0   0   1   0   0   0   6  81
//    0   1   0   0   0  31  79  29   0   0   0   0   0   0   0   4
//    0   0   1   0   0   0  29  85  36   0   0   0   1   0   0   0
//    0   0   0   0   0   0   0  36  85  33   0   0   0   1   0   0
//    7   0   0   0   0   0   0   0  33  87  42   0   0   0   0   0
//   79   3   0   0   0   1   0   0   0  42  89  35   0   0   0   1
//   69  68   3   0   0   0   0   0   0   0  35  80  27   0   0   0
//    2  68  75   5   0   0   0   1   0   0   0  27  83  36   0   0
//    0   3  74  75   4   0   0   0   1   0   0   0  36  85  33   0
//    0   0   3  71  78   6   0   0   0   0   0   0   0  33  85  40
//    0   0   0   3  79  81   4   0   0   0   1   0   0   0  40  90
// squared_relu
//  101  30   0   0   0   0   0   0   0   8  87  72   1   0   0   0
//   30  89  33   0   0   0   0   0   0   0   4  71  70   3   0   0
//    0  33 102  36   0   0   0   0   0   0   0   3  81  79   3   0
//    0   0  36  97  35   0   0   0   0   0   0   0   5  80  75   4
//    0   0   0  35 108  43   0   0   0   0   0   0   0   4  85  87
//    0   0   0   0  43 107  32   0   0   0   0   0   0   0   8  91
//    0   0   0   0   0  32  88  31   0   0   0   0   0   0   0   5
//    0   0   0   0   0   0  31 100  37   0   0   0   0   0   0   0
//    0   0   0   0   0   0   0  37  99  34   0   0   0   0   0   0
//    8   0   0   0   0   0   0   0  34 104  42   0   0   0   0   0
//   87   4   0   0   0   0   0   0   0  42 111  35   0   0   0   0
//   72  71   3   0   0   0   0   0   0   0  35  90  29   0   0   0
//    1  70  81   5   0   0   0   0   0   0   0  29  96  37   0   0
//    0   3  79  80   4   0   0   0   0   0   0   0  37 101  34   0
//    0   0   3  75  85   8   0   0   0   0   0   0   0  34 100  40
//    0   0   0   4  87  91   5   0   0   0   0   0   0   0  40 113
