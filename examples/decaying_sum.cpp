// SPDX-License-Identifier: Apache-2.0
// Linear recurrences: a moving average, its gradients, a sequence in two pieces, and the gated
// recurrence of minGRU.
#include <slicesort/decaying_sum.hpp>
#include <slicesort/view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace ss = slicesort;

namespace {

void print(char const* name, std::vector<float> const& values) {
  std::printf("%-8s", name);
  for (float v : values) std::printf(" %g", static_cast<double>(v));
  std::printf("\n");
}

}  // namespace

int main() {
  ss::extents3 const shape{1, 4, 1};
  ss::extents4 const numbers{1, 1, 1, 1};
  std::vector<float> const x = {1, 2, 3, 4}, dy = {1, 1, 1, 1}, decay = {0.5F}, weight = {2};
  std::vector<float> y(4), dx(4), ddecay(1), dweight(1);

  // [snippet]
  ss::decaying_sum const op;  // s[n] = a s[n-1] + x[n], y[n] = w s[n]
  ss::exec::host const exec;
  ss::scratch memory;
  auto const a = ss::view(decay, numbers),
             w = ss::view(weight, numbers);  // [1, states, 1, channels]
  op.forward(exec, ss::view(x, shape), {a, w}, ss::view(y, shape), {}, memory);
  op.backward(exec, ss::view(dy, shape), ss::view(x, shape), {a, w},
              {ss::view(dx, shape), ss::view(ddecay, numbers), ss::view(dweight, numbers)}, {},
              memory);
  // [/snippet]
  print("y", y);
  print("dx", dx);
  print("da", ddecay);
  print("dw", dweight);

  // [snippet pieces]
  std::vector<float> state(1);  // the state before the piece; replaced by the one after it
  for (ss::index_t first = 0; first < 4; first += 2) {
    ss::tensor3<float const> const piece(x.data() + first, {1, 2, 1});
    ss::tensor3<float> const output(y.data() + first, {1, 2, 1});
    op.forward(exec, piece, {a, w}, output,
               {ss::view(std::as_const(state), numbers), ss::view(state, numbers)}, memory);
  }
  // [/snippet pieces]
  print("pieces", y);

  // [snippet gates]
  std::vector<float> const gates = {0.5F, 0.25F, 0.5F, 1}, candidates = {2, 4, 6, 8};
  std::vector<float> keep(4), input(4);  // h[n] = (1 - z[n]) h[n-1] + z[n] candidate[n]
  for (std::size_t n = 0; n < 4; ++n) keep[n] = 1 - gates[n], input[n] = gates[n] * candidates[n];
  auto const keep_per_row =
      ss::view(std::as_const(keep), {1, 1, 4, 1});  // [batch, 1, length, channels]
  op.forward(exec, ss::view(std::as_const(input), shape), {keep_per_row}, ss::view(y, shape), {},
             memory);
  // [/snippet gates]
  print("gated", y);
}

// output:
// y        2 5 8.5 12.25
// dx       3.75 3.5 3 2
// da       19.5
// dw       13.875
// pieces   2 5 8.5 12.25
// gated    1 1.75 3.875 8
