// SPDX-License-Identifier: Apache-2.0
// Compiled without readable PTX: the runtime must report that.
#include <cstdio>

__global__ void empty_kernel() {}

int main() {
  empty_kernel<<<1, 1>>>();
  std::puts(cudaGetErrorName(cudaGetLastError()));
}
