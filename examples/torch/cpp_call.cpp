// SPDX-License-Identifier: Apache-2.0
// Times slicing_sort on [1, 64, 64] floats with one thread and prints the microseconds of forward
// without the permutation, of forward with it, and of backward. speed.py compares its call overhead
// with these.
#include <slicesort/slicing_sort.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace ss = slicesort;

template <class F>
double measure_microseconds(F const& f) {
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
  double const values = measure_microseconds(
      [&] { op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::no_saved, memory); });
  double const forward = measure_microseconds([&] {
    op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::view(perm, shape), memory);
  });
  double const backward = measure_microseconds([&] {
    op.backward(exec, ss::view(y, shape), ss::view(perm, shape), ss::view(x, shape), memory);
  });
  std::printf("%.3f %.3f %.3f\n", values, forward, backward);
}
