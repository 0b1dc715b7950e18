// SPDX-License-Identifier: Apache-2.0
// Softmax attention: heads of a packed tensor, forward and backward; a bias with its gradient; the whole map in memory;
// lengths; a mask of one's own; and pictures of all masks, which docs/operators/draw_masks.py draws.
#include <slicesort/equivalent_matrix.hpp>
#include <slicesort/softmax_attention.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace ss = slicesort;

namespace {

std::vector<float> elements(ss::index_t size, float value = 0) {
  return std::vector<float>(static_cast<std::size_t>(size), value);
}
// Small numbers, each another.
std::vector<float> numbers(ss::index_t size, int seed) {
  auto list = elements(size);
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i] = 0.25f * static_cast<float>(
                          static_cast<int>((i * 7 + static_cast<std::size_t>(seed)) % 9) - 4) +
              0.1f;
  return list;
}
void print(char const* name, std::vector<float> const& values, std::size_t count) {
  std::printf("%-6s", name);
  for (std::size_t i = 0; i < count; ++i) std::printf(" %7.4f", static_cast<double>(values[i]));
  std::printf("\n");
}

void train() {
  // Two heads of three channels in one tensor [batch, length, heads * channels], as a projection puts them out.
  ss::extents3 const shape{1, 5, 6};
  auto const q_data = numbers(shape.size(), 1), k_data = numbers(shape.size(), 2),
             v_data = numbers(shape.size(), 5), dy_data = numbers(shape.size(), 7);
  auto y_data = elements(shape.size()), dq_data = y_data, dk_data = y_data, dv_data = y_data;
  // [snippet]
  auto const heads = [&](std::vector<float>& data) {
    return ss::split_heads(ss::tensor3<float>(data.data(), shape), 2);
  };
  auto const inputs = [&](std::vector<float> const& data) {
    return ss::split_heads(ss::tensor3<float const>(data.data(), shape), 2);
  };
  ss::tensor4<float const> const q = inputs(q_data), k = inputs(k_data), v = inputs(v_data),
                                 dy = inputs(dy_data);
  ss::tensor4<float> const y = heads(y_data), dq = heads(dq_data), dk = heads(dk_data),
                           dv = heads(dv_data);

  ss::softmax_attention<ss::mask::causal> const op;  // streaming; the scale is 1 / sqrt(channels)
  auto state_data = elements(op.saved_extents(q.extents(), v.extents()).size());
  ss::tensor4<float> const state(state_data.data(), op.saved_extents(q.extents(), v.extents()));

  ss::exec::host const on;
  std::vector<unsigned char> scratch(op.workspace_bytes<float>(on, q.extents(), v.extents()));
  ss::workspace const lent{scratch.data(), scratch.size()};
  op.forward(on, {q, k, v}, y, {state}, lent);
  op.backward(on, dy, {q, k, v}, y, {state}, {dq, dk, dv}, lent);
  // [/snippet]
  print("y", y_data, 6);  // the first query sees one key
  print("", {y_data.begin() + 6, y_data.end()}, 6);
  print("dq", {dq_data.begin() + 6, dq_data.end()}, 6);
  print("dk", dk_data, 6);
  print("dv", dv_data, 6);

  // [snippet bias]
  // A bias that all samples and heads share, and its gradient, which has a part for each. dq, dk and dv are not asked for.
  auto const bias_data = numbers(5 * 5, 3);
  auto dbias_data = elements(2 * 5 * 5);
  ss::tensor4<float const> const bias(bias_data.data(), {1, 2, 5, 5}, {0, 0, 5, 1});
  ss::tensor4<float> const dbias(dbias_data.data(), {1, 2, 5, 5});
  op.forward(on, {q, k, v, bias}, y, {state}, lent);
  op.backward(on, dy, {q, k, v, bias}, y, {state}, {{}, {}, {}, dbias}, lent);
  // [/snippet bias]
  print("dbias", {dbias_data.begin() + 10, dbias_data.end()}, 5);  // head 0, query 2

  // [snippet whole]
  // The whole map in memory, by the library's own loops; with a BLAS: ss::materialized<ss::cblas>.
  ss::softmax_attention<ss::mask::causal, ss::materialized<>> const whole;
  ss::extents4 const pairs = whole.saved_extents(q.extents(), v.extents());  // [1, 2, 5, 5]
  auto map_data = elements(pairs.size());
  std::vector<unsigned char> more(whole.workspace_bytes<float>(on, q.extents(), v.extents()));
  whole.forward(on, {q, k, v}, y, {ss::tensor4<float>(map_data.data(), pairs)},
                {more.data(), more.size()});
  // [/snippet whole]
  print("map", {map_data.begin() + 10, map_data.end()}, 5);  // head 0, query 2

  // [snippet lengths]
  // Of this sample three keys are valid, and four queries; nothing is kept for backward.
  ss::index_t const keys = 3, queries = 4;
  op.forward(on, {q, k, v}, y, ss::no_saved, lent, {{&keys, 1}, {&queries, 1}});
  // [/snippet lengths]
  print("y", {y_data.begin() + 18, y_data.end()}, 6);
  print("", {y_data.begin() + 24, y_data.end()}, 6);
}

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

// Where 16 queries look among 16 keys: a line of the picture for each.
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
  train();
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
  ss::tensor4<float> const to(y.data(), {1, 1, 8, 1});
  ss::attention_inputs<float> const in{eight, eight, eight, {}};
  std::printf("%s\n", op.check(ss::exec::host{}, in, to, ss::no_saved).message);
}

// output:
// y       0.3500 -0.1500 -0.6500  1.1000  0.6000  0.1000
//        -0.2133 -0.7133  0.4766  0.6646  0.1646 -0.3354
// dq     -0.1822 -0.1822  0.0911  0.0830  0.0830 -0.1661
// dk      0.1200  0.1204  0.0588 -0.1231  0.1884  0.0830
// dv      0.9447  0.5722 -0.3554 -0.3357  1.5258  0.4154
// dbias  -0.0442 -0.0304  0.0746  0.0000  0.0000
// map     0.2467  0.2809  0.4724  0.0000  0.0000
// y       0.2410 -0.2590  0.1364  0.4936 -0.0064  0.1257
//         0.0000  0.0000  0.0000  0.0000  0.0000  0.0000
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
