// SPDX-License-Identifier: Apache-2.0
#include "kernels.cuh"

__global__ void write_architecture(int* to) {
#if defined(__CUDA_ARCH__)
  *to = __CUDA_ARCH__;
#else
  *to = 0;
#endif
}
__global__ void add_one(int* to) { *to += 1; }
__global__ void __launch_bounds__(64) bounded(int* to) { *to = static_cast<int>(blockDim.x); }
