// SPDX-License-Identifier: Apache-2.0
// decaying_sum as matrices of the rows: one decay, several, complex ones, both directions, and
// decays per row. docs/operators/pictures/draw_decaying_sum.py draws the output.
#include <slicesort/decaying_sum.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

constexpr ss::index_t rows = 16;

// Prints the matrix in percent. a: [numbers], or [numbers][rows] if given per row; w: [numbers].
void print_map(char const* name, ss::decaying_sum const& op, std::vector<double> const& a,
               std::vector<double> const& w) {
  ss::index_t const numbers = op.numbers();
  bool const per_row = static_cast<ss::index_t>(a.size()) == numbers * rows;
  ss::index_t const pitch = per_row ? rows : 1;
  ss::scratch memory;
  // [snippet]
  // Row n of x is 1 in channel n and 0 in the others. All channels have the same numbers (stride
  // 0), so y[n, m] is the weight of row m in row n.
  std::vector<double> identity(static_cast<std::size_t>(rows * rows)), map(identity.size());
  for (std::size_t n = 0; n < map.size(); n += rows + 1) identity[n] = 1;
  ss::extents3 const shape{1, rows, rows};
  ss::tensor4<double const> const decays(a.data(), {1, numbers, pitch, rows}, {0, pitch, 1, 0});
  ss::tensor4<double const> const weights(w.data(), {1, numbers, 1, rows}, {0, 1, 0, 0});
  op.forward(ss::exec::host{}, ss::view(identity, shape), {decays, weights}, ss::view(map, shape),
             {}, memory);
  // [/snippet]
  std::printf("%s\n", name);
  for (ss::index_t n = 0; n < rows; ++n) {
    for (ss::index_t m = 0; m < rows; ++m)
      std::printf("%4ld", std::lround(100 * map[static_cast<std::size_t>(n * rows + m)]));
    std::printf("\n");
  }
}

}  // namespace

int main() {
  print_map("one state", ss::decaying_sum{}, {.8}, {1});
  print_map("three states", ss::decaying_sum{3}, {.3, .75, .97}, {.4, .4, .2});
  print_map("reverse", ss::decaying_sum{1, ss::decay_numbers::real, ss::decay_direction::reverse},
            {.8}, {1});
  print_map("both", ss::decaying_sum{1, ss::decay_numbers::real, ss::decay_direction::both},
            {.8, .5}, {.6, .4});
  double const radius = .85, angle = .7;
  print_map("complex", ss::decaying_sum{1, ss::decay_numbers::complex},
            {radius * std::cos(angle), radius * std::sin(angle)}, {.5, 0});
  std::vector<double> gates(rows, .85);
  gates[6] = gates[11] = 0;
  print_map("per row", ss::decaying_sum{}, gates, {1});
}

// output:
// one state
//  100   0   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   80 100   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   64  80 100   0   0   0   0   0   0   0   0   0   0   0   0   0
//   51  64  80 100   0   0   0   0   0   0   0   0   0   0   0   0
//   41  51  64  80 100   0   0   0   0   0   0   0   0   0   0   0
//   33  41  51  64  80 100   0   0   0   0   0   0   0   0   0   0
//   26  33  41  51  64  80 100   0   0   0   0   0   0   0   0   0
//   21  26  33  41  51  64  80 100   0   0   0   0   0   0   0   0
//   17  21  26  33  41  51  64  80 100   0   0   0   0   0   0   0
//   13  17  21  26  33  41  51  64  80 100   0   0   0   0   0   0
//   11  13  17  21  26  33  41  51  64  80 100   0   0   0   0   0
//    9  11  13  17  21  26  33  41  51  64  80 100   0   0   0   0
//    7   9  11  13  17  21  26  33  41  51  64  80 100   0   0   0
//    5   7   9  11  13  17  21  26  33  41  51  64  80 100   0   0
//    4   5   7   9  11  13  17  21  26  33  41  51  64  80 100   0
//    4   4   5   7   9  11  13  17  21  26  33  41  51  64  80 100
// three states
//  100   0   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   61 100   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   45  61 100   0   0   0   0   0   0   0   0   0   0   0   0   0
//   36  45  61 100   0   0   0   0   0   0   0   0   0   0   0   0
//   31  36  45  61 100   0   0   0   0   0   0   0   0   0   0   0
//   27  31  36  45  61 100   0   0   0   0   0   0   0   0   0   0
//   24  27  31  36  45  61 100   0   0   0   0   0   0   0   0   0
//   22  24  27  31  36  45  61 100   0   0   0   0   0   0   0   0
//   20  22  24  27  31  36  45  61 100   0   0   0   0   0   0   0
//   18  20  22  24  27  31  36  45  61 100   0   0   0   0   0   0
//   17  18  20  22  24  27  31  36  45  61 100   0   0   0   0   0
//   16  17  18  20  22  24  27  31  36  45  61 100   0   0   0   0
//   15  16  17  18  20  22  24  27  31  36  45  61 100   0   0   0
//   14  15  16  17  18  20  22  24  27  31  36  45  61 100   0   0
//   14  14  15  16  17  18  20  22  24  27  31  36  45  61 100   0
//   13  14  14  15  16  17  18  20  22  24  27  31  36  45  61 100
// reverse
//  100  80  64  51  41  33  26  21  17  13  11   9   7   5   4   4
//    0 100  80  64  51  41  33  26  21  17  13  11   9   7   5   4
//    0   0 100  80  64  51  41  33  26  21  17  13  11   9   7   5
//    0   0   0 100  80  64  51  41  33  26  21  17  13  11   9   7
//    0   0   0   0 100  80  64  51  41  33  26  21  17  13  11   9
//    0   0   0   0   0 100  80  64  51  41  33  26  21  17  13  11
//    0   0   0   0   0   0 100  80  64  51  41  33  26  21  17  13
//    0   0   0   0   0   0   0 100  80  64  51  41  33  26  21  17
//    0   0   0   0   0   0   0   0 100  80  64  51  41  33  26  21
//    0   0   0   0   0   0   0   0   0 100  80  64  51  41  33  26
//    0   0   0   0   0   0   0   0   0   0 100  80  64  51  41  33
//    0   0   0   0   0   0   0   0   0   0   0 100  80  64  51  41
//    0   0   0   0   0   0   0   0   0   0   0   0 100  80  64  51
//    0   0   0   0   0   0   0   0   0   0   0   0   0 100  80  64
//    0   0   0   0   0   0   0   0   0   0   0   0   0   0 100  80
//    0   0   0   0   0   0   0   0   0   0   0   0   0   0   0 100
// both
//  100  20  10   5   3   1   1   0   0   0   0   0   0   0   0   0
//   48 100  20  10   5   3   1   1   0   0   0   0   0   0   0   0
//   38  48 100  20  10   5   3   1   1   0   0   0   0   0   0   0
//   31  38  48 100  20  10   5   3   1   1   0   0   0   0   0   0
//   25  31  38  48 100  20  10   5   3   1   1   0   0   0   0   0
//   20  25  31  38  48 100  20  10   5   3   1   1   0   0   0   0
//   16  20  25  31  38  48 100  20  10   5   3   1   1   0   0   0
//   13  16  20  25  31  38  48 100  20  10   5   3   1   1   0   0
//   10  13  16  20  25  31  38  48 100  20  10   5   3   1   1   0
//    8  10  13  16  20  25  31  38  48 100  20  10   5   3   1   1
//    6   8  10  13  16  20  25  31  38  48 100  20  10   5   3   1
//    5   6   8  10  13  16  20  25  31  38  48 100  20  10   5   3
//    4   5   6   8  10  13  16  20  25  31  38  48 100  20  10   5
//    3   4   5   6   8  10  13  16  20  25  31  38  48 100  20  10
//    3   3   4   5   6   8  10  13  16  20  25  31  38  48 100  20
//    2   3   3   4   5   6   8  10  13  16  20  25  31  38  48 100
// complex
//  100   0   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   65 100   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   12  65 100   0   0   0   0   0   0   0   0   0   0   0   0   0
//  -31  12  65 100   0   0   0   0   0   0   0   0   0   0   0   0
//  -49 -31  12  65 100   0   0   0   0   0   0   0   0   0   0   0
//  -42 -49 -31  12  65 100   0   0   0   0   0   0   0   0   0   0
//  -18 -42 -49 -31  12  65 100   0   0   0   0   0   0   0   0   0
//    6 -18 -42 -49 -31  12  65 100   0   0   0   0   0   0   0   0
//   21   6 -18 -42 -49 -31  12  65 100   0   0   0   0   0   0   0
//   23  21   6 -18 -42 -49 -31  12  65 100   0   0   0   0   0   0
//   15  23  21   6 -18 -42 -49 -31  12  65 100   0   0   0   0   0
//    3  15  23  21   6 -18 -42 -49 -31  12  65 100   0   0   0   0
//   -7   3  15  23  21   6 -18 -42 -49 -31  12  65 100   0   0   0
//  -11  -7   3  15  23  21   6 -18 -42 -49 -31  12  65 100   0   0
//  -10 -11  -7   3  15  23  21   6 -18 -42 -49 -31  12  65 100   0
//   -4 -10 -11  -7   3  15  23  21   6 -18 -42 -49 -31  12  65 100
// per row
//  100   0   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   85 100   0   0   0   0   0   0   0   0   0   0   0   0   0   0
//   72  85 100   0   0   0   0   0   0   0   0   0   0   0   0   0
//   61  72  85 100   0   0   0   0   0   0   0   0   0   0   0   0
//   52  61  72  85 100   0   0   0   0   0   0   0   0   0   0   0
//   44  52  61  72  85 100   0   0   0   0   0   0   0   0   0   0
//    0   0   0   0   0   0 100   0   0   0   0   0   0   0   0   0
//    0   0   0   0   0   0  85 100   0   0   0   0   0   0   0   0
//    0   0   0   0   0   0  72  85 100   0   0   0   0   0   0   0
//    0   0   0   0   0   0  61  72  85 100   0   0   0   0   0   0
//    0   0   0   0   0   0  52  61  72  85 100   0   0   0   0   0
//    0   0   0   0   0   0   0   0   0   0   0 100   0   0   0   0
//    0   0   0   0   0   0   0   0   0   0   0  85 100   0   0   0
//    0   0   0   0   0   0   0   0   0   0   0  72  85 100   0   0
//    0   0   0   0   0   0   0   0   0   0   0  61  72  85 100   0
//    0   0   0   0   0   0   0   0   0   0   0  52  61  72  85 100
