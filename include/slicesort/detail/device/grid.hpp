// SPDX-License-Identifier: Apache-2.0
// Interface between kernels and the code that runs them.
//
// A *kernel* is a trivially copyable struct of arguments with
//   static constexpr int max_threads;        // launch bound
//   template <class SharedAllocator>
//   SLICESORT_HD layout shared(SharedAllocator&) const;   // its shared memory; optional
//   template <class Block>
//   SLICESORT_HD void operator()(Block&) const;           // the work of one thread
//   static constexpr int min_blocks;         // blocks per multiprocessor, the second launch bound;
//                                            // optional, default 1
//
// A *Block* is the context of one thread of a thread block:
//   int rank() const, size() const           // index of the thread, number of threads
//   index_t index() const                    // index of the block in the grid
//   void sync()                              // barrier of the block
//   bool sync_or(bool)                       // barrier; true if any thread passes true
//   T* allocate<T>(std::size_t count)        // shared memory, 16-byte aligned; the same for all
//                                            // threads of the block
//   A multiply_add(A a, A b, A c)            // c + a * b, rounded twice, as on the host
//   A fused_multiply_add(A a, A b, A c)      // c + a * b, rounded once, as std::fma
//   A divide(A a, A b)                       // a / b, rounded once under any compiler flags
//   static constexpr bool fast_double        // true if doubles compare as fast as floats
//   static constexpr bool big_register_file  // true if 32 or more doubles fit in 128 registers
//   static void compare_exchange(std::uint32_t& low, std::uint32_t& high)
//                                            // swaps the two if high < low
//   static float canonicalize(float)         // +0 for -0, 0x7fffffff for any NaN
//   static bool at_most(float a, float b)    // true if a <= b in the total order
//   static N opaque(N)                       // returns the int, float or double, hidden from the
//                                            // optimizer
// For tiles with rows of 16-byte pieces (detail/device/warp_mma.hpp). All threads must call these:
//   V reduce<Lanes>(V, F combine)            // reduces over groups of Lanes = 2^k lanes of a warp;
//                                            // all lanes get the result; no barrier
//   auto shfl_quad(Array const&)             // returns f(lane, i): element i of a lane of the quad
//   float exp2(float)                        // approximation, to a few units in the last place
//   void copy_async(void* to, void const* from, int bytes)
//                                            // fills 16 aligned bytes of shared memory: copies
//                                            // `bytes` bytes and zeroes the rest
//   void await_copies()                      // waits for the thread's copies
//   void mma_abt<Width>(sums, a, b, depth)   // sums += a b^T, on tensor cores if possible
//   void mma_ab<Width>(sums, weights, x, width)  // sums += weights x, on tensor cores if possible
//   auto mma_operand<T>(sums)                // sums as weights, rounded to T if it has 16 bits
// In launches with clusters, for the blocks of a cluster:
//   int cluster_rank() const                 // index() modulo the size of the cluster
//   void sync_cluster()                      // barrier of the cluster
//   T* map_shared_rank(T* address, int rank) // maps it to another block's shared memory
//
// A *Grid* runs kernels in order:
//   device_info info() const
//   Tuning tuning(Tuning defaults, std::size_t element_bytes) const
//   bool clusters() const                    // true if launches can have clusters
//   bool multiply(detail::gemm_callback const&, gemm_call const&) const   // product by a BLAS
//   void run(Kernel const&, index_t blocks, int threads, int cluster = 1) const
// `cuda_grid` (detail/cuda/launch.cuh) is a Grid. The tests have one that runs kernels on the CPU.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Backend of an operator for any grid. Specialized in detail/<op>/device.hpp.
template <class Op>
struct device_implementation;

inline constexpr int warp_threads = 32;

// Rounds up to the alignment of shared memory allocations.
constexpr SLICESORT_HD std::size_t shared_slice(std::size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

// Shared memory allocator that only counts bytes.
class shared_counter {
 public:
  template <class T>
  SLICESORT_HD T* allocate(std::size_t count) {
    bytes_ += shared_slice(count * sizeof(T));
    return nullptr;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

template <class Kernel, class = void>
inline constexpr bool has_shared = false;
template <class Kernel>
inline constexpr bool has_shared<Kernel, decltype(void(std::declval<Kernel const&>().shared(
                                             std::declval<shared_counter&>())))> = true;

// Second launch bound of a kernel.
template <class Kernel, class = void>
inline constexpr int min_blocks_of = 1;
template <class Kernel>
inline constexpr int min_blocks_of<Kernel, decltype(void(Kernel::min_blocks))> = Kernel::min_blocks;

// Bytes of shared memory that a launch of `kernel` needs.
template <class Kernel>
std::size_t shared_bytes(Kernel const& kernel) {
  shared_counter counter;
  if constexpr (has_shared<Kernel>) kernel.shared(counter);
  return counter.bytes();
}

template <class A, class B>
SLICESORT_HD constexpr std::common_type_t<A, B> divide_up(A a, B b) {
  return (a + b - 1) / b;
}

// Returns the largest power of two <= n. Requires n >= 1.
constexpr index_t bit_floor(index_t n) {
  index_t p = 1;
  while (p <= n / 2) p *= 2;
  return p;
}
// Returns the smallest power of two >= n.
constexpr index_t bit_ceil(index_t n) {
  index_t p = 1;
  while (p < n) p *= 2;
  return p;
}

SLICESORT_DETAIL_END
