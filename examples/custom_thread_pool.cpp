// SPDX-License-Identifier: Apache-2.0
// Runs the library on the caller's thread pool, without threads of its own. A pool is any type with
// `parallel_for(n, f)`, which calls f(i) once for each i below n and returns when all are done.
#include "support/thread_pool.hpp"

#include <slicesort/slicing_sort.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

int main() {
  ss::extents3 const shape{8, 500, 40};
  std::vector<float> x;
  for (unsigned i = 0; i < 8 * 500 * 40; ++i)
    x.push_back(static_cast<float>(i * 2654435761u % 9973));
  std::vector<float> serial(x.size()), pooled(x.size());

  ss::slicing_sort<> const op;
  auto const sort = [&](auto const& exec, std::vector<float>& y) {
    ss::scratch memory;  // holds scratch memory for each task that may run concurrently
    op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::no_saved, memory);
  };

  thread_pool pool(4);
  ss::exec::host_on const exec(pool);
  sort(ss::exec::host{}, serial);
  sort(exec, pooled);
  std::printf("threads: %u\n", exec.threads);
  std::printf("same as on one thread: %s\n", serial == pooled ? "yes" : "no");
}

// output:
// threads: 4
// same as on one thread: yes
