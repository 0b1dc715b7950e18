// SPDX-License-Identifier: Apache-2.0
// Prints the microseconds of slicing_sort's forward and backward on [1, 64, 64] floats and one
// thread: the C++ baseline of the call overhead that speed.py measures.
#include <slicesort/slicing_sort.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace ss = slicesort;

template <class F>
double microseconds(F const& f) {
  using clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) {
    auto const start = clock::now();
    for (int i = 0; i < 1000; ++i) f();
    best = std::min(best, std::chrono::duration<double, std::micro>(clock::now() - start).count());
  }
  return best / 1000;
}

int main() {
  ss::extents3 const shape{1, 64, 64};
  std::vector<float> x(64 * 64), y(x.size());
  std::vector<std::uint16_t> perm(x.size());
  std::mt19937 engine(0);
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(engine);
  ss::slicing_sort<> const op;
  ss::exec::host const exec;
  ss::scratch memory;
  double const forward = microseconds([&] {
    op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::view(perm, shape), memory);
  });
  double const backward = microseconds([&] {
    op.backward(exec, ss::view(y, shape), ss::view(perm, shape), ss::view(x, shape), memory);
  });
  std::printf("%.3f %.3f\n", forward, backward);
}
