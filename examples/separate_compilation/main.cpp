// SPDX-License-Identifier: Apache-2.0
// Separate compilation: a C++17 compiler builds this file without CUDA headers, and sort_on_gpu.cu
// instantiates the operator for the GPU. Host and GPU results agree bit for bit.
#include "sort_on_gpu.hpp"

#include <slicesort/slicing_sort.hpp>

#include <cstdio>
#include <vector>

namespace ss = slicesort;

int main() {
  if (!has_gpu()) {
    std::puts("no CUDA device: skipped");
    return 77;
  }
  ss::extents3 const shape{1, 5, 2};
  std::vector<float> const x = {5, 10, 2, 50, 4, 30, 1, 20, 3, 40};

  // [snippet]
  std::vector<float> const on_gpu = sorted_on_gpu(x, shape);  // compiled by nvcc

  std::vector<float> on_cpu(x.size());  // compiled here
  ss::slicing_sort<> const op;
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, ss::view(x, shape), ss::view(on_cpu, shape), ss::no_saved, memory);
  // [/snippet]

  for (std::size_t i = 0; i < x.size(); i += 2)
    std::printf("%d %d\n", static_cast<int>(on_gpu[i]), static_cast<int>(on_gpu[i + 1]));
  std::puts(on_gpu == on_cpu ? "GPU and CPU agree" : "GPU and CPU differ");
}

// output:
// 1 10
// 2 20
// 3 30
// 4 40
// 5 50
// GPU and CPU agree
