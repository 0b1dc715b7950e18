// SPDX-License-Identifier: Apache-2.0
// Rounding errors of softmax over long sequences, which slicing-sort does not have (Sliceformer's
// first version, Algorithm 1 and Figure 2). For x ~ N(0, 1) of length N and a random permutation P,
// prints the deviation of the outputs, the distance of softmax(P x) from P softmax(x), and the
// share of equal elements. Docs: docs/softmax_numerics/README.md.
//
//   softmax_numerics [trials [longest]]      default: 20 1000; the figure: 100 1000000
#include <slicesort/slicesort.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace ss = slicesort;

namespace {

// Random stream whose n-th number depends on the seed and n alone.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) : seed_(mix(seed)) {}

  std::uint64_t bits() { return mix(seed_ + ++count_ * 0x9e3779b97f4a7c15u); }
  double unit() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }
  double normal() {  // Box and Muller
    double const radius = std::sqrt(-2 * std::log(unit()));
    return radius * std::cos(6.283185307179586 * unit());
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t seed_, count_ = 0;
};

using column = std::vector<float>;

// [snippet]
// Softmax of x as attention computes it: the saved map of one query with value 1 and keys x.
column softmax(column const& x) {
  ss::softmax_attention<ss::mask::full, ss::materialized<>> const op{ss::mask::full{}, 1.0};
  auto const n = static_cast<ss::index_t>(x.size());
  float const query = 1, zero = 0;
  float mean = 0;
  column map(x.size());
  ss::tensor4<float const> const q(&query, {1, 1, 1, 1}), k(x.data(), {1, 1, n, 1}),
      v(&zero, {1, 1, n, 1}, {0, 0, 0, 0});
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, {q, k, v}, ss::tensor4<float>(&mean, {1, 1, 1, 1}), ss::view(map, {1, 1, 1, n}),
             memory);
  return map;
}
// [/snippet]

column sort_column(column const& x) {
  ss::slicing_sort<> const op;
  ss::extents3 const shape{1, x.size(), 1};
  column y(x.size());
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::no_saved, memory);
  return y;
}

// Statistics, averaged over the trials.
struct statistics {
  double deviation = 0, difference = 0, equal_share = 0;

  // Adds the output y of one trial. In exact arithmetic it equals `expected`.
  void add(column const& y, column const& expected, int trials) {
    auto const n = static_cast<double>(y.size());
    double mean = 0, squares = 0, distance = 0, matches = 0;
    for (float v : y) mean += static_cast<double>(v) / n;
    for (std::size_t i = 0; i < y.size(); ++i) {
      double const value = static_cast<double>(y[i]);
      squares += (value - mean) * (value - mean);
      distance += std::fabs(value - static_cast<double>(expected[i]));
      matches += y[i] == expected[i] ? 1 : 0;
    }
    deviation += std::sqrt(squares / (n - 1)) / trials;
    difference += distance / trials;
    equal_share += matches / n / trials;
  }
};

void run_trials(std::size_t n, int trials) {
  statistics attention, sort;
  for (int trial = 0; trial < trials; ++trial) {
    random_stream random(n * 1000 + static_cast<std::uint64_t>(trial));
    column x(n), shuffled(n), moved(n);
    for (float& v : x) v = static_cast<float>(random.normal());
    std::vector<std::size_t> perm(n);
    for (std::size_t i = 0; i < n; ++i) perm[i] = i;
    for (std::size_t i = n; i > 1; --i) std::swap(perm[i - 1], perm[random.bits() % i]);
    for (std::size_t i = 0; i < n; ++i) shuffled[i] = x[perm[i]];

    column const map = softmax(x);
    for (std::size_t i = 0; i < n; ++i) moved[i] = map[perm[i]];
    attention.add(moved, softmax(shuffled), trials);
    sort.add(sort_column(x), sort_column(shuffled), trials);
  }
  std::printf("%7zu %6d  %9.2e %9.2e %7.4f  %9.2e %9.2e %7.4f\n", n, trials, attention.deviation,
              attention.difference, attention.equal_share, sort.deviation, sort.difference,
              sort.equal_share);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int const trials = argc > 1 ? std::atoi(argv[1]) : 20;
  std::size_t const longest = argc > 2 ? static_cast<std::size_t>(std::atol(argv[2])) : 1000;
  if (trials < 1 || longest < 10) return std::puts("usage: softmax_numerics [trials [longest]]"), 1;
  std::puts("                 softmax                      slicing_sort");
  std::puts("      N trials        std sum|y-y'|   equal        std sum|y-y'|   equal");
  for (std::size_t n = 10; n <= longest; n *= 10) {
    run_trials(n, trials);
    if (3 * n <= longest) run_trials(3 * n, trials);
  }
}

// output:
//                  softmax                      slicing_sort
//       N trials        std sum|y-y'|   equal        std sum|y-y'|   equal
//      10     20   1.00e-01  4.88e-08  0.5300   9.69e-01  0.00e+00  1.0000
//      30     20   3.89e-02  8.59e-08  0.4617   1.03e+00  0.00e+00  1.0000
//     100     20   1.23e-02  5.92e-08  0.6040   1.02e+00  0.00e+00  1.0000
//     300     20   4.38e-03  6.01e-08  0.5148   1.01e+00  0.00e+00  1.0000
//    1000     20   1.33e-03  8.07e-08  0.4634   9.97e-01  0.00e+00  1.0000
