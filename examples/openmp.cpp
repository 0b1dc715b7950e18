// SPDX-License-Identifier: Apache-2.0
// OpenMP as a thread pool: it keeps its threads between parallel regions, and a few lines run the
// library on them.
#include <slicesort/slicing_sort.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

// [snippet]
struct openmp {
  template <class F>
  void parallel_for(unsigned n, F const& f) const {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < static_cast<int>(n); ++i) f(static_cast<unsigned>(i));
  }
};
// [/snippet]

int main() {
  ss::extents3 const shape{8, 500, 40};
  std::vector<float> x;
  for (unsigned i = 0; i < 8 * 500 * 40; ++i)
    x.push_back(static_cast<float>(i * 2654435761u % 9973));
  std::vector<float> serial(x.size()), parallel(x.size());

  ss::slicing_sort<> const op;
  auto const sort = [&](auto const& exec, std::vector<float>& y) {
    ss::scratch memory;
    op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::no_saved, memory);
  };

  openmp pool;
  ss::exec::host_on const exec(pool);  // as many tasks as there are hardware threads
  sort(ss::exec::host{}, serial);
  sort(exec, parallel);
  std::printf("same as on one thread: %s\n", serial == parallel ? "yes" : "no");
}

// output:
// same as on one thread: yes
