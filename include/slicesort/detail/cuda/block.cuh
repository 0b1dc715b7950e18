// SPDX-License-Identifier: Apache-2.0
// Implementation of the Block interface (detail/device/grid.hpp) for CUDA threads.
#pragma once

#include <slicesort/detail/cuda/tensor_core.cuh>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/warp_mma.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

class device_block {
 public:
  // Data-center GPUs compare FP64 at half the FP32 rate, other GPUs at 1/32 or less. Before sm_90,
  // the compiler spills registers in the larger passes of a sorting network.
#if defined(__CUDA_ARCH__)
  static constexpr bool fast_double =
      __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000;
  static constexpr bool big_register_file = __CUDA_ARCH__ >= 900;
#else
  static constexpr bool fast_double = false, big_register_file = false;
#endif

  __device__ device_block(unsigned char* shared_memory, index_t first_block)
      : next_shared_(shared_memory), first_block_(first_block) {}

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ index_t index() const { return first_block_ + static_cast<index_t>(blockIdx.x); }
  __device__ void sync() { __syncthreads(); }
  __device__ bool sync_or(bool predicate) { return __syncthreads_or(predicate) != 0; }

  template <class T>
  __device__ T* allocate(std::size_t count) {
    T* const slice = reinterpret_cast<T*>(next_shared_);
    next_shared_ += shared_slice(count * sizeof(T));
    return slice;
  }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __device__ int cluster_rank() const { return static_cast<int>(__clusterRelativeBlockRank()); }
  __device__ void sync_cluster() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
  template <class T>
  __device__ T* map_shared_rank(T* address, int rank) const {
    return static_cast<T*>(__cluster_map_shared_rank(address, static_cast<unsigned>(rank)));
  }
#else
  // Never called, because clusters() is false for a grid that was not compiled for sm_90.
  __device__ int cluster_rank() const { return 0; }
  __device__ void sync_cluster() { __trap(); }
  template <class T>
  __device__ T* map_shared_rank(T* address, int) const {
    return address;
  }
#endif

  template <int Lanes, class V, class F>
  __device__ __forceinline__ V reduce(V value, F const& combine) {
    SLICESORT_UNROLL
    for (int width = 1; width < Lanes; width *= 2)
      value = combine(value, __shfl_xor_sync(0xffffffffu, value, width));
    return value;
  }
  template <class Array>
  __device__ __forceinline__ auto shfl_quad(Array const& array) {
    return [&array](int lane, int i) { return __shfl_sync(0xffffffffu, array[i], lane, 4); };
  }
  static __device__ __forceinline__ float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static constexpr bool tensor_cores = true;
  static __device__ __forceinline__ void copy_async(void* to, void const* from, int bytes) {
    copy_piece_async(to, from, bytes);
  }
  static __device__ __forceinline__ void await_copies() { await_copied_pieces(); }
#else
  static constexpr bool tensor_cores = false;
  static __device__ __forceinline__ void copy_async(void* to, void const* from, int bytes) {
    auto* const words = static_cast<std::uint32_t*>(to);
    for (int i = 0; i < 4; ++i) {
      std::uint32_t word = 0;
      for (int j = 0; j < 4 && 4 * i + j < bytes; ++j)
        word |= std::uint32_t{static_cast<unsigned char const*>(from)[4 * i + j]} << 8 * j;
      words[i] = word;
    }
  }
  static __device__ __forceinline__ void await_copies() {}
#endif
  template <int Width, class A, class T, int Rows, int Columns>
  __device__ __forceinline__ void mma_abt(register_tile<A, Rows, Columns>& sums,
                                          tile_vector16<T> const* a, tile_vector16<T> const* b,
                                          int depth) {
    if constexpr (tensor_cores && has_tensor_core_mma<T>)
      tensor_mma_abt<Width>(sums, a, b), (void)depth;
    else
      plain_mma_abt<Width>(*this, sums, a, b, depth);
  }
  template <class T, class Sums>
  static __device__ __forceinline__ auto mma_operand(Sums const& sums) {
    if constexpr (tensor_cores && has_tensor_core_mma<T>)
      return as_tensor_operand<T>(sums);
    else
      return plain_mma_operand<T>(sums);
  }
  template <int Width, class A, class T, class Weights, int Rows>
  __device__ __forceinline__ void mma_ab(register_tile<A, Rows, Width / 8>& sums,
                                         Weights const& weights, tile_vector16<T> const* x,
                                         int width) {
    if constexpr (tensor_cores && has_tensor_core_mma<T>)
      tensor_mma_ab<Width>(sums, weights, x), (void)width;
    else
      plain_mma_ab<Width>(*this, sums, weights, x, width);
  }

  // Uses intrinsics, because the compiler would fuse a plain expression, which rounds once.
  __device__ float multiply_add(float a, float b, float c) { return __fadd_rn(c, __fmul_rn(a, b)); }
  __device__ double multiply_add(double a, double b, double c) {
    return __dadd_rn(c, __dmul_rn(a, b));
  }

  __device__ float fused_multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  __device__ double fused_multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
  // Uses intrinsics, because -use_fast_math approximates plain divisions of floats.
  __device__ float divide(float a, float b) { return __fdiv_rn(a, b); }
  __device__ double divide(double a, double b) { return __ddiv_rn(a, b); }
  // Uses assembly, because the compiler's front end takes twenty seconds for a network of a
  // thousand plain min and max calls.
  static __device__ void compare_exchange(std::uint32_t& low, std::uint32_t& high) {
    std::uint32_t min, max;
    asm("min.u32 %0, %2, %3;\n\tmax.u32 %1, %2, %3;" : "=&r"(min), "=r"(max) : "r"(low), "r"(high));
    low = min;
    high = max;
  }
  // Adds 0, because a NaN sum is always 0x7fffffff. Uses assembly, because -use_fast_math would
  // flush denormals in a plain sum.
  static __device__ float canonicalize(float value) {
    float sum;
    asm("add.rn.f32 %0, %1, 0f00000000;" : "=f"(sum) : "f"(value));
    return sum;
  }
  // Uses assembly, because -use_fast_math would flush denormals.
  static __device__ bool at_most(float a, float b) {
    int result;
    asm("{\n\t"
        ".reg .pred p;\n\t"
        "setp.nan.f32 p, %2, %2;\n\t"
        "setp.le.or.f32 p, %1, %2, p;\n\t"
        "selp.s32 %0, 1, 0, p;\n\t"
        "}"
        : "=r"(result)
        : "f"(a), "f"(b));
    return result != 0;
  }
  static __device__ float opaque(float value) {
    asm volatile("" : "+f"(value));
    return value;
  }
  static __device__ double opaque(double value) {
    asm volatile("" : "+d"(value));
    return value;
  }
  // Keeps the compiler from holding products of `value` in registers across a whole pass.
  static __device__ int opaque(int value) {
    asm volatile("" : "+r"(value));
    return value;
  }

 private:
  unsigned char* next_shared_;
  index_t first_block_;  // number of the launch's first block in the grid
};

SLICESORT_DETAIL_END
