// SPDX-License-Identifier: Apache-2.0
// The Block of detail/block/grid.hpp on the device.
#pragma once

#include <slicesort/detail/block/grid.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

class device_block {
 public:
  // FP64 compares at half the FP32 rate on the data-centre parts alone, elsewhere at 1/32 or less.
// Before sm_90 the compiler spills registers with the larger passes of a network.
#if defined(__CUDA_ARCH__)
  static constexpr bool fast_double =
      __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000;
  static constexpr bool spacious = __CUDA_ARCH__ >= 900;
#else
  static constexpr bool fast_double = false, spacious = false;
#endif

  __device__ device_block(unsigned char* shared, index_t first) : shared_(shared), first_(first) {}

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ index_t index() const { return first_ + static_cast<index_t>(blockIdx.x); }
  __device__ void sync() { __syncthreads(); }
  __device__ bool any(bool predicate) { return __syncthreads_or(predicate) != 0; }

  template <class T>
  __device__ T* take(std::size_t count) {
    T* const slice = reinterpret_cast<T*>(shared_);
    shared_ += shared_slice(count * sizeof(T));
    return slice;
  }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __device__ int cluster_rank() const { return static_cast<int>(__clusterRelativeBlockRank()); }
  __device__ void sync_cluster() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
  template <class T>
  __device__ T* of_block(T* mine, int rank) const {
    return static_cast<T*>(__cluster_map_shared_rank(mine, static_cast<unsigned>(rank)));
  }
#else
  // Never run: a grid that was not compiled for sm_90 says that it has no clusters.
  __device__ int cluster_rank() const { return 0; }
  __device__ void sync_cluster() { __trap(); }
  template <class T>
  __device__ T* of_block(T* mine, int) const {
    return mine;
  }
#endif

  // The compiler would fuse a plain expression, and round once.
  __device__ float multiply_add(float a, float b, float c) { return __fadd_rn(c, __fmul_rn(a, b)); }
  __device__ double multiply_add(double a, double b, double c) {
    return __dadd_rn(c, __dmul_rn(a, b));
  }

  __device__ float fused_multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  __device__ double fused_multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
  // Written as min and max, a network of a thousand comparators keeps the compiler's front end busy
  // for twenty seconds; it does not look into this.
  static __device__ void order(std::uint32_t& low, std::uint32_t& high) {
    std::uint32_t least, most;
    asm("min.u32 %0, %2, %3;\n\tmax.u32 %1, %2, %3;"
        : "=&r"(least), "=r"(most)
        : "r"(low), "r"(high));
    low = least;
    high = most;
  }
  static __device__ float renew(float number) {
    asm volatile("" : "+f"(number));
    return number;
  }
  static __device__ double renew(double number) {
    asm volatile("" : "+d"(number));
    return number;
  }
  // Else products with it are kept in registers from the first use to the last.
  static __device__ int renew(int number) {
    asm volatile("" : "+r"(number));
    return number;
  }

 private:
  unsigned char* shared_;
  index_t first_;  // block that the launch began with
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
