// SPDX-License-Identifier: Apache-2.0
// Rank collapse: layers that average rows make them all equal; layers that permute channels do not.
#include <slicesort/csp.hpp>
#include <slicesort/rank_collapse.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ss = slicesort;

namespace {

constexpr ss::extents3 shape{1, 8, 3};

// softmax(x x') x
std::vector<double> attention(std::vector<double> const& x) {
  std::vector<double> y(x.size());
  for (std::size_t n = 0; n < 8; ++n) {
    double weights[8], sum = 0;
    for (std::size_t m = 0; m < 8; ++m) {
      double product = 0;
      for (std::size_t c = 0; c < 3; ++c) product += x[3 * n + c] * x[3 * m + c];
      sum += weights[m] = std::exp(product);
    }
    for (std::size_t m = 0; m < 8; ++m)
      for (std::size_t c = 0; c < 3; ++c) y[3 * n + c] += weights[m] / sum * x[3 * m + c];
  }
  return y;
}

}  // namespace

int main() {
  std::vector<double> mixed(24), moved(24), next(24);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = static_cast<double>(i * i % 13) / 6 - 1;
  moved = mixed;

  ss::exec::host const exec;
  ss::csp<> const op{ss::group_size{4}};
  ss::scratch memory;
  std::printf("layers  attention     csp\n");
  for (int layer = 0; layer <= 6; ++layer) {
    // [snippet]
    ss::rank_report const averaged = ss::rank_collapse(ss::view(mixed, shape));
    ss::rank_report const permuted = ss::rank_collapse(ss::view(moved, shape));
    std::printf("%6d  %9.4f  %6.4f\n", layer, averaged.relative(), permuted.relative());
    // [/snippet]
    mixed = attention(mixed);
    op.forward(exec, ss::view(moved, shape), ss::view(next, shape), ss::no_saved, memory);
    moved = next;
  }
}

// output:
// layers  attention     csp
//      0     1.0270  1.0270
//      1     1.0359  1.0288
//      2     1.0791  1.0270
//      3     0.4756  1.0288
//      4     0.0084  1.0270
//      5     0.0000  1.0288
//      6     0.0000  1.0270
