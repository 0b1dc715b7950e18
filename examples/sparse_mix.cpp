// SPDX-License-Identifier: Apache-2.0
// Sparse factors: a chain with its gradients, with saved and with recomputed states; and a row's
// receptive field after each factor of three topologies, one of them user-defined.
// docs/operators/pictures/draw_receptive_field.py draws the receptive fields.
#include <slicesort/equivalent_matrix.hpp>
#include <slicesort/sparse_mix.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace ss = slicesort;

namespace {

std::vector<float> elements(ss::index_t size, float value = 0) {
  return std::vector<float>(static_cast<std::size_t>(size), value);
}
void print(char const* name, std::vector<float> const& values) {
  std::printf("%-3s", name);
  for (float v : values) std::printf(" %2g", static_cast<double>(v));
  std::printf("\n");
}

void train() {
  ss::extents3 const shape{1, 8, 1};
  auto x_data = elements(shape.size()), y_data = x_data, dy_data = x_data, dx_data = x_data;
  x_data[0] = 1;
  dy_data[7] = 1;
  auto const x = ss::view(x_data, shape), dy = ss::view(dy_data, shape);
  auto const y = ss::view(y_data, shape), dx = ss::view(dx_data, shape);
  // [snippet weights]
  ss::index_t const factors = ss::ceil_log2(shape.length);
  ss::index_t const links = ss::topology::chord{}.links(factors);

  // A weight for every factor, sample, row and link. (All are 1; the paper computes them by MLPs.)
  ss::stack_extents const weights{factors, shape.batch, shape.length, links};
  auto w_data = elements(weights.size(), 1), dw_data = w_data;
  auto const w = ss::view(w_data, weights), dw = ss::view(dw_data, weights);
  // [/snippet weights]
  auto state_data = elements((factors - 1) * shape.size());

  // [snippet]
  ss::sparse_mix<> const op;  // CHORD, a residual per factor, all states saved
  auto const states = ss::view(state_data, op.saved_extents(shape, weights));
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, x, w, y, states, memory);
  op.backward(exec, dy, x, w, states, dx, dw, memory);  // without x, states and dw: dx alone
  // [/snippet]
  print("y", y_data);
  print("dx", dx_data);
  print("dw", {dw_data.end() - 4, dw_data.end()});  // the last row of the last factor

  auto const first = dw_data;
  // [snippet frugal]
  // Saves no states (`ss::save_every(2)` saves every other one). The results are bitwise the same.
  ss::sparse_mix const frugal{ss::topology::chord{}, ss::recompute};
  frugal.forward(exec, x, w, y, ss::no_saved, memory);
  frugal.backward(exec, dy, x, w, ss::no_saved, dx, dw, memory);
  // [/snippet frugal]
  std::printf("the same dw: %s\n", dw_data == first ? "yes" : "no");

  // [snippet one]
  // One factor without a residual; its weights are a view of rank 3.
  ss::sparse_mix<ss::topology::cdil, ss::residual::none> const factor{ss::topology::cdil{2}};
  auto const five_links = elements(8 * 5, 1);
  factor.forward(exec, x, ss::view(five_links, {1, 8, 5}), y, ss::no_saved, memory);
  // [/snippet one]
  print("y", y_data);
}

// [snippet custom]
// CHORD in both directions: 0, 1, -1, 2, -2, 4, -4, ..
struct both_ways {
  ss::index_t reach;  // links in each direction

  // May return any integer: it is reduced modulo the length of the sample.
  ss::index_t offset(ss::index_t link, ss::index_t /*factor*/) const {
    if (link == 0) return 0;
    ss::index_t const distance = ss::index_t{1} << (link - 1) / 2;
    return link % 2 == 1 ? distance : -distance;
  }
  // Optional: the number of links, and the error of invalid parameters.
  ss::index_t links(ss::index_t /*factors*/) const { return 2 * reach + 1; }
  char const* validate(ss::index_t /*factors*/) const {
    return 0 <= reach && reach < 62 ? nullptr : "both_ways: reach must be in 0..61";
  }
};
// [/snippet custom]

// Prints the number of paths from each row of x to `row` after 0, 1, 2, .. factors.
template <class Topology>
void print_field(char const* name, Topology topology, ss::index_t length, ss::index_t row) {
  std::printf("%s, ways to row %d\n", name, static_cast<int>(row));
  for (ss::index_t factors = 0; factors <= ss::ceil_log2(length); ++factors) {
    // [snippet field]
    // The chain's matrix. With weights of 1 it counts paths.
    ss::sparse_mix<Topology, ss::residual::none> const op{topology};
    ss::stack_extents const weights{factors, 1, length, topology.links(factors)};
    float const weight = 1;
    ss::tensor_stack<float const> const w(&weight, weights, {0, 0, 0, 0});
    ss::dense_matrix const ways = ss::equivalent_matrix(op, w, 0);
    // [/snippet field]
    std::printf(" ");
    for (ss::index_t j = 0; j < length; ++j)
      std::printf(" %s",
                  ways(row, j) == 0 ? "." : std::to_string(static_cast<int>(ways(row, j))).c_str());
    std::printf("\n");
  }
}

}  // namespace

int main() {
  train();
  print_field("chord", ss::topology::chord{5}, 16, 8);
  print_field("cdil", ss::topology::cdil{}, 16, 8);
  print_field("both_ways", both_ways{3}, 16, 8);

  // A wrong number of links is rejected before anything is written.
  ss::extents3 const shape{1, 16, 1};
  auto x = elements(16), y = x, six_links = elements(4 * 16 * 6);
  ss::sparse_mix<both_ways> const op{both_ways{3}};
  ss::status const status = op.forward(ss::exec::dry_run{ss::exec::host{}}, ss::view(x, shape),
                                       ss::view(six_links, ss::stack_extents{4, 1, 16, 6}),
                                       ss::view(y, shape), ss::no_saved);
  std::printf("%s\n", status.message);
}

// output:
// y   17  6 16 15 22 13 21 15
// dx  15 21 13 22 15 16  6 17
// dw   4  5  0  2
// the same dw: yes
// y    1  1  1  0  0  0  1  1
// chord, ways to row 8
//   . . . . . . . . 1 . . . . . . .
//   1 . . . . . . . 1 1 1 . 1 . . .
//   3 2 2 . 2 . . . 2 2 3 2 3 2 2 .
//   10 9 12 6 10 6 6 . 7 6 9 7 12 9 10 6
//   45 40 50 40 50 40 44 24 33 28 40 28 45 40 46 32
// cdil, ways to row 8
//   . . . . . . . . 1 . . . . . . .
//   . . . . . . . 1 1 1 . . . . . .
//   . . . . . 1 1 2 1 2 1 1 . . . .
//   . 1 1 2 1 3 2 3 1 3 2 3 1 2 1 1
//   2 7 5 8 3 7 4 5 1 5 4 7 3 8 5 7
// both_ways, ways to row 8
//   . . . . . . . . 1 . . . . . . .
//   . . . . 1 . 1 1 1 1 1 . 1 . . .
//   2 . 2 2 3 4 5 4 7 4 5 4 3 2 2 .
//   12 12 16 15 25 22 30 30 31 30 30 22 25 15 16 12
//   118 104 126 132 151 164 184 180 201 180 184 164 151 132 126 104
// sparse_mix.forward: w.links is 6, must be 7 (topology.links)
