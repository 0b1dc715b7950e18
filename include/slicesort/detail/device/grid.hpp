// SPDX-License-Identifier: Apache-2.0
// The contract between kernels and what runs them.
//
// A *kernel* is a trivially copyable struct, the kernel's arguments, with
//   static constexpr int max_threads;        // the launch bound
//   template <class SharedAllocator>
//   SLICESORT_HD layout shared(SharedAllocator&) const;   // its shared memory
//   template <class Block>
//   SLICESORT_HD void operator()(Block&) const;           // what one thread does
// A kernel without `shared` has no shared memory. It may have
//   static constexpr int min_blocks;         // that a multiprocessor has registers for: the launch
//                                            // bound's second number, else 1
//
// A *Block* is what a kernel sees of the thread that it runs on:
//   int rank() const, size() const           // thread of the block, threads of it
//   index_t index() const                    // block of the grid
//   void sync()                              // barrier of the block
//   bool any(bool)                           // barrier; whether any thread passed true
//   T* allocate<T>(std::size_t count)        // shared memory, 16-byte aligned; every thread of the
//                                            // block gets the same
//   A multiply_add(A a, A b, A c)            // c + a * b, rounded twice, as the host does
//   A fused_multiply_add(A a, A b, A c)      // c + a * b, rounded once, as std::fma does
//   A divide(A a, A b)                       // a / b, rounded once, whatever the compiler's flags
//   static constexpr bool fast_double        // comparing two doubles is as cheap as two floats
//   static constexpr bool big_register_file  // the compiler fits 32 doubles and more in 128
//                                            // registers
//   static void compare_exchange(std::uint32_t& low, std::uint32_t& high)
//                                            // swaps them if high < low
//   static float canonicalize(float)         // +0 for -0, 0x7fffffff for any NaN
//   static bool at_most(float a, float b)    // whether a is no later than b in the total order
//   static N opaque(N)                       // the same int, float or double; hides from the
//                                            // compiler what it knows about it
// for tiles of rows of 16-byte pieces (detail/device/warp_mma.hpp), by all threads of the block:
//   V reduce<Lanes>(V, F combine)            // over Lanes = 2^k neighboring threads, which all get
//                                            // the result; by whole warps, and no barrier
//   auto shfl_quad(Array const&)             // (lane, i): element i of another of four neighbors
//   float exp2(float)                        // approximate, to some units in the last place
//   void copy_async(void* to, void const* from, int bytes)
//                                            // to 16 bytes of shared memory, all aligned; bytes
//                                            // after `bytes` become 0
//   void await_copies()                      // this thread's; those of others after a sync()
//   void mma_abt<Width>(sums, a, b, depth)   // sums += a b^T
//   void mma_ab<Width>(sums, weights, x, width)  // sums += weights x
//                                            // (both on tensor cores where they can)
//   auto mma_operand<T>(sums)                // sums as weights, rounded to T if it has 16 bits
// and, in a launch with clusters, for the blocks of one:
//   int cluster_rank() const                 // index() modulo the blocks of a cluster
//   void sync_cluster()                      // barrier of the cluster
//   T* map_shared_rank(T* mine, int rank)    // the same address in another block's shared memory
//
// A *Grid* runs kernels, one after the other:
//   device_info info() const
//   Tuning tuning(Tuning defaults, std::size_t element_bytes) const
//   bool clusters() const                    // whether launches may have clusters
//   bool multiply(detail::gemm_callback const&, gemm_call const&) const   // a BLAS's matrix product
//   void run(Kernel const&, index_t blocks, int threads, int cluster = 1) const
// `cuda_grid` is one (detail/cuda/launch.cuh); the tests have another that runs kernels on the host.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// The backend of an operator on any grid; each operator specializes it in detail/<op>/dispatch.hpp.
template <class Op>
struct device_implementation;

inline constexpr int warp_threads = 32;

// One alignment for every piece of shared memory.
constexpr SLICESORT_HD std::size_t shared_slice(std::size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

// Takes the same walk over shared memory as a block, and only counts.
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

// How many blocks a multiprocessor shall have registers for.
template <class Kernel, class = void>
inline constexpr int blocks_at_once = 1;
template <class Kernel>
inline constexpr int blocks_at_once<Kernel, decltype(void(Kernel::min_blocks))> =
    Kernel::min_blocks;

// What a launch of `kernel` must provide.
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

// The largest power of two that is at most n, for n >= 1.
constexpr index_t power_of_two_below(index_t n) {
  index_t p = 1;
  while (p <= n / 2) p *= 2;
  return p;
}
// The smallest power of two that is at least n.
constexpr index_t power_of_two_above(index_t n) {
  index_t p = 1;
  while (p < n) p *= 2;
  return p;
}

SLICESORT_DETAIL_END
