// SPDX-License-Identifier: Apache-2.0
// The masks of softmax attention, a mask of one's own among them: the program prints which of 16
// keys each of 16 queries looks at. docs/operators/draw_masks.py draws its output.
#include <slicesort/equivalent_matrix.hpp>
#include <slicesort/softmax_attention.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace ss = slicesort;

namespace {

// [snippet own]
// Every query looks at the first keys, which are for all, and at those near by.
struct window_and_globals {
  ss::index_t near_by, globals;

  // No key outside is looked at: whole tiles of keys are left out. A mask may do without.
  ss::key_range range(ss::index_t query, ss::index_t /*keys*/) const {
    return {0, std::max(query + near_by + 1, globals)};
  }
  // Whether a key of the range is. A mask may do without.
  bool allows(ss::index_t query, ss::index_t key) const {
    return key < globals || key >= query - near_by;
  }
  // Optional: which parameters make no sense.
  char const* validate(ss::index_t keys) const {
    return globals <= keys ? nullptr : "window_and_globals: there are not so many keys";
  }
};
// [/snippet own]

// A picture of which of 16 keys each of 16 queries looks at, a line for each query.
using lines = std::vector<std::string>;
template <class Mask>
lines picture(Mask mask) {
  ss::index_t const n = 16;
  float const zero = 0;
  ss::tensor4<float const> const same(&zero, {1, 1, n, 1}, {0, 0, 0, 0});
  // [snippet map]
  ss::softmax_attention<Mask> const op{mask};
  ss::attention_inputs<float> const in{same, same, same, {}};
  ss::dense_matrix const map = ss::equivalent_matrix(op, in, 0, 0);  // of sample 0, head 0
  // [/snippet map]
  lines rows;
  for (ss::index_t i = 0; i < map.size; ++i) {
    rows.emplace_back();
    for (ss::index_t j = 0; j < map.columns; ++j) rows.back() += map(i, j) > 0 ? '#' : '.';
  }
  return rows;
}
void print_beside(std::vector<lines> const& pictures) {
  for (std::size_t i = 0; i < pictures[0].size(); ++i)
    for (std::size_t k = 0; k < pictures.size(); ++k)
      std::printf(k + 1 < pictures.size() ? "%-20s" : "%s\n", pictures[k][i].c_str());
}

}  // namespace

int main() {
  namespace mask = ss::mask;
  std::puts("causal              window{2, 2}        block_local{4}");
  print_beside(
      {picture(mask::causal{}), picture(mask::window{2, 2}), picture(mask::block_local{4})});
  std::puts("strided{4, 2}       causal, strided{4}  window_and_globals{1, 2}");
  print_beside({picture(mask::strided{4, 2}), picture(mask::both{mask::causal{}, mask::strided{4}}),
                picture(window_and_globals{1, 2})});

  ss::softmax_attention<window_and_globals> const op{{1, 9}};
  float zero = 0;
  ss::tensor4<float const> const eight(&zero, {1, 1, 8, 1}, {0, 0, 0, 0});
  std::vector<float> y(8);
  ss::attention_inputs<float> const in{eight, eight, eight, {}};
  std::printf(
      "%s\n",
      op.check_forward(ss::exec::host{}, in, ss::view(y, {1, 1, 8, 1}), ss::no_saved).message);
}

// output:
// causal              window{2, 2}        block_local{4}
// #...............    ###.............    ####............
// ##..............    ####............    ####............
// ###.............    #####...........    ####............
// ####............    .#####..........    ####............
// #####...........    ..#####.........    ....####........
// ######..........    ...#####........    ....####........
// #######.........    ....#####.......    ....####........
// ########........    .....#####......    ....####........
// #########.......    ......#####.....    ........####....
// ##########......    .......#####....    ........####....
// ###########.....    ........#####...    ........####....
// ############....    .........#####..    ........####....
// #############...    ..........#####.    ............####
// ##############..    ...........#####    ............####
// ###############.    ............####    ............####
// ################    .............###    ............####
// strided{4, 2}       causal, strided{4}  window_and_globals{1, 2}
// ##..#...#...#...    #...............    ##..............
// ###..#...#...#..    .#..............    ###.............
// .###..#...#...#.    ..#.............    ####............
// ..###..#...#...#    ...#............    #####...........
// #..###..#...#...    #...#...........    ##.###..........
// .#..###..#...#..    .#...#..........    ##..###.........
// ..#..###..#...#.    ..#...#.........    ##...###........
// ...#..###..#...#    ...#...#........    ##....###.......
// #...#..###..#...    #...#...#.......    ##.....###......
// .#...#..###..#..    .#...#...#......    ##......###.....
// ..#...#..###..#.    ..#...#...#.....    ##.......###....
// ...#...#..###..#    ...#...#...#....    ##........###...
// #...#...#..###..    #...#...#...#...    ##.........###..
// .#...#...#..###.    .#...#...#...#..    ##..........###.
// ..#...#...#..###    ..#...#...#...#.    ##...........###
// ...#...#...#..##    ...#...#...#...#    ##............##
// softmax_attention.forward: mask window_and_globals: there are not so many keys (keys is 8)
