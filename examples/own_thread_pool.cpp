// SPDX-License-Identifier: Apache-2.0
// The library starts no threads when it is given a pool. Anything with `parallel_for(n, f)` will
// do: f(i) must be called once for every i below n, and all calls must be done when it returns.
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
    // The workspace has one slot for every part that may run at the same time.
    ss::scratch memory;
    op.forward(exec, ss::view(x, shape), ss::view(y, shape), ss::no_saved, memory);
  };

  thread_pool workers(4);
  ss::exec::host_on const exec(workers);
  sort(ss::exec::host{}, serial);
  sort(exec, pooled);
  std::printf("parts: %u\n", exec.threads);
  std::printf("same as on one thread: %s\n", serial == pooled ? "yes" : "no");
}

// output:
// parts: 4
// same as on one thread: yes
