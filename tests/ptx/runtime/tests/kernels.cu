// SPDX-License-Identifier: Apache-2.0
// Definitions of the kernels in kernels.cuh.
#include "kernels.cuh"

__global__ void write_architecture(int* result) {
#if defined(__CUDA_ARCH__)
  *result = __CUDA_ARCH__;
#else
  *result = 0;
#endif
}
__global__ void add_one(int* result) { *result += 1; }
__global__ void __launch_bounds__(64) write_block_size(int* result) {
  *result = static_cast<int>(blockDim.x);
}
