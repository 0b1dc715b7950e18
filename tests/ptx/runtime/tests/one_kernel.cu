// SPDX-License-Identifier: Apache-2.0
// A program without readable PTX. The runtime must report that.
#include <cstdio>

__global__ void empty_kernel() {}

int main() {
  empty_kernel<<<1, 1>>>();
  std::puts(cudaGetErrorName(cudaGetLastError()));
}
