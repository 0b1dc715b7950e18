// SPDX-License-Identifier: Apache-2.0
// Masks of softmax attention, one of them user-defined. Prints the keys that each of 16 queries
// attends to; docs/masks/draw_masks.py draws the output.
#include <slicesort/equivalent_matrix.hpp>
#include <slicesort/softmax_attention.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace ss = slicesort;

namespace {

// [snippet custom]
// Several documents packed into one sequence: a query attends to the keys of its own document.
struct same_document {
  ss::tensor1<ss::index_t const> document;  // document of each row, ascending

  // True if the query attends to the key.
  bool allows(ss::index_t query, ss::index_t key) const { return document(query) == document(key); }
  // Optional: false if no query of the range attends to a key of the range; such tiles are skipped.
  bool meets(ss::index_t first_query, ss::index_t last_query, ss::index_t first_key,
             ss::index_t last_key) const {
    return document(first_query) <= document(last_key - 1) &&
           document(first_key) <= document(last_query - 1);
  }
  // Optional: true if every query attends to every key, so that `allows` is not called.
  bool covers(ss::index_t first_query, ss::index_t last_query, ss::index_t first_key,
              ss::index_t last_key) const {
    return document(first_query) == document(last_key - 1) &&
           document(first_key) == document(last_query - 1);
  }
  // Optional: the error of invalid parameters, or null.
  char const* validate(ss::index_t keys) const {
    return document.size() == keys ? nullptr : "same_document: each key must have a document";
  }
};
// [/snippet custom]

// [query][key]: true if the key is not after the query.
std::array<bool, 16 * 16> lower_triangle() {
  std::array<bool, 16 * 16> table{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j <= i; ++j) table[i * 16 + j] = true;
  return table;
}

// Draws one line per query, of 16, with a '#' for each key that the query attends to.
using lines = std::vector<std::string>;
template <class Mask>
lines picture(Mask mask) {
  ss::index_t const n = 16;
  float const zero = 0;
  ss::tensor4<float const> const zeros(&zero, {1, 1, n, 1}, {0, 0, 0, 0});
  // [snippet map]
  ss::softmax_attention<Mask> const op{mask};
  ss::attention_inputs<float> const in{zeros, zeros, zeros, {}};
  ss::dense_matrix const map = ss::equivalent_matrix(op, in, 0, 0);  // sample 0, head 0
  // [/snippet map]
  lines rows;
  for (ss::index_t i = 0; i < map.size; ++i) {
    rows.emplace_back();
    for (ss::index_t j = 0; j < map.columns; ++j) rows.back() += map(i, j) > 0 ? '#' : '.';
  }
  return rows;
}
void print_beside(std::vector<char const*> const& names, std::vector<lines> const& pictures) {
  auto const print = [&](std::size_t k, char const* text) {
    std::printf(k + 1 < pictures.size() ? "%-26s" : "%s\n", text);
  };
  for (std::size_t k = 0; k < names.size(); ++k) print(k, names[k]);
  for (std::size_t i = 0; i < pictures[0].size(); ++i)
    for (std::size_t k = 0; k < pictures.size(); ++k) print(k, pictures[k][i].c_str());
}

}  // namespace

int main() {
  namespace mask = ss::mask;
  // [snippet compose]
  mask::either const longformer{mask::window{1, 1}, mask::globals{1}};
  mask::both const sparse_transformer{mask::causal{}, mask::fixed{4, 1}};

  mask::bigbird bigbird;
  bigbird.block = 2;
  bigbird.random = 1;
  bigbird.seed = 7;
  bigbird.keys = 16;

  // Four blocks of four rows: one element per query block, one bit per key block, lowest bit first.
  std::uint8_t const bits[] = {0b0101, 0b0010, 0b1100, 0b1001};
  mask::block_pairs const pairs{ss::tensor1<std::uint8_t const>(bits, 4), 4, 16};
  // [/snippet compose]
  // [snippet stored]
  // Three samples packed into one sequence: rows 0 to 4, 5 to 7 and 8 to 15.
  std::int32_t const offsets[] = {0, 5, 8, 16};
  mask::segments const samples{ss::tensor1<std::int32_t const>(offsets, 4)};
  mask::both const causal_samples{mask::causal{}, samples};

  // A boolean per pair of each head, [1, 1, 16, 16]. A padding mask of keys is [batch, 1, 1, 16].
  std::array<bool, 16 * 16> const visible = lower_triangle();
  mask::tensor const pair_table{ss::tensor4<bool const>(visible.data(), {1, 1, 16, 16})};
  // [/snippet stored]
  std::vector<ss::index_t> const documents = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2};
  same_document const packed{ss::tensor1<ss::index_t const>(documents.data(), documents.size())};

  print_beside(
      {"causal", "window{2, 2}", "block_local{4}"},
      {picture(mask::causal{}), picture(mask::window{2, 2}), picture(mask::block_local{4})});
  print_beside({"strided{4, 2}", "dilated_window{2, 1, 3}", "fixed{4, 1}"},
               {picture(mask::strided{4, 2}), picture(mask::dilated_window{2, 1, 3}),
                picture(mask::fixed{4, 1})});
  print_beside({"chunk_back{4, true, 16}", "block_pairs", "bigbird, blocks of 2"},
               {picture(mask::chunk_back{4, true, 16}), picture(pairs), picture(bigbird)});
  print_beside({"either window, globals", "both causal, fixed", "both causal, same_document"},
               {picture(longformer), picture(sparse_transformer),
                picture(mask::both{mask::causal{}, packed})});

  bool const same_segments = picture(causal_samples) == picture(mask::both{mask::causal{}, packed});
  bool const same_table = picture(pair_table) == picture(mask::causal{});
  std::printf("segments are the documents: %s; the table is causal: %s\n",
              same_segments ? "true" : "false", same_table ? "true" : "false");

  ss::softmax_attention<same_document> const op{packed};
  float zero = 0;
  ss::tensor4<float const> const eight_rows(&zero, {1, 1, 8, 1}, {0, 0, 0, 0});
  std::vector<float> y(8);
  ss::attention_inputs<float> const in{eight_rows, eight_rows, eight_rows, {}};
  std::printf("%s\n", op.forward(ss::exec::dry_run{ss::exec::host{}}, in, ss::view(y, {1, 1, 8, 1}),
                                 ss::no_saved)
                          .message);
}

// output:
// causal                    window{2, 2}              block_local{4}
// #...............          ###.............          ####............
// ##..............          ####............          ####............
// ###.............          #####...........          ####............
// ####............          .#####..........          ####............
// #####...........          ..#####.........          ....####........
// ######..........          ...#####........          ....####........
// #######.........          ....#####.......          ....####........
// ########........          .....#####......          ....####........
// #########.......          ......#####.....          ........####....
// ##########......          .......#####....          ........####....
// ###########.....          ........#####...          ........####....
// ############....          .........#####..          ........####....
// #############...          ..........#####.          ............####
// ##############..          ...........#####          ............####
// ###############.          ............####          ............####
// ################          .............###          ............####
// strided{4, 2}             dilated_window{2, 1, 3}   fixed{4, 1}
// ##..#...#...#...          #..#............          ####...#...#...#
// ###..#...#...#..          .#..#...........          ####...#...#...#
// .###..#...#...#.          ..#..#..........          ####...#...#...#
// ..###..#...#...#          #..#..#.........          ####...#...#...#
// #..###..#...#...          .#..#..#........          ...#####...#...#
// .#..###..#...#..          ..#..#..#.......          ...#####...#...#
// ..#..###..#...#.          #..#..#..#......          ...#####...#...#
// ...#..###..#...#          .#..#..#..#.....          ...#####...#...#
// #...#..###..#...          ..#..#..#..#....          ...#...#####...#
// .#...#..###..#..          ...#..#..#..#...          ...#...#####...#
// ..#...#..###..#.          ....#..#..#..#..          ...#...#####...#
// ...#...#..###..#          .....#..#..#..#.          ...#...#####...#
// #...#...#..###..          ......#..#..#..#          ...#...#...#####
// .#...#...#..###.          .......#..#..#..          ...#...#...#####
// ..#...#...#..###          ........#..#..#.          ...#...#...#####
// ...#...#...#..##          .........#..#..#          ...#...#...#####
// chunk_back{4, true, 16}   block_pairs               bigbird, blocks of 2
// ####........####          ####....####....          ################
// ####........####          ####....####....          ################
// ####........####          ####....####....          ######....##..##
// ####........####          ####....####....          ######....##..##
// ########........          ....####........          ########..##..##
// ########........          ....####........          ########..##..##
// ########........          ....####........          ##..######..####
// ########........          ....####........          ##..######..####
// ....########....          ........########          ##....##########
// ....########....          ........########          ##....##########
// ....########....          ........########          ##..##..########
// ....########....          ........########          ##..##..########
// ........########          ####........####          ##......########
// ........########          ####........####          ##......########
// ........########          ####........####          ################
// ........########          ####........####          ################
// either window, globals    both causal, fixed        both causal, same_document
// ################          #...............          #...............
// ###.............          ##..............          ##..............
// ####............          ###.............          ###.............
// #.###...........          ####............          ####............
// #..###..........          ...##...........          #####...........
// #...###.........          ...###..........          .....#..........
// #....###........          ...####.........          .....##.........
// #.....###.......          ...#####........          .....###........
// #......###......          ...#...##.......          ........#.......
// #.......###.....          ...#...###......          ........##......
// #........###....          ...#...####.....          ........###.....
// #.........###...          ...#...#####....          ........####....
// #..........###..          ...#...#...##...          ........#####...
// #...........###.          ...#...#...###..          ........######..
// #............###          ...#...#...####.          ........#######.
// #.............##          ...#...#...#####          ........########
// segments are the documents: true; the table is causal: true
// softmax_attention.forward: mask same_document: each key must have a document (k.length is 8)
