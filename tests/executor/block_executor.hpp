// SPDX-License-Identifier: Apache-2.0
// Runs kernels (detail/device/grid.hpp) on the host, with the blocks they have on a device
// and one fiber, or one std::thread, for every CUDA thread. What a device would let pass, or would
// do wrong once in a thousand runs, is a block_fault here:
//
// - Shared memory is exactly what the launch asked for. Every slice lies between red zones, which
//   AddressSanitizer knows too, and all of it holds garbage before a block begins.
// - The threads of a block must agree: all wait at a barrier of one kind, or all end.
// - Between two barriers the threads run one after another in a random order, each time another;
//   so do the blocks. A seed repeats a schedule.
// - Where the threads of a warp show each other numbers, they meet, and nobody else does: the first
//   warp that is complete runs on to its next barrier while others have not begun.
// - An asynchronous copy is made when it is started or when it is waited for, by lot.
//
// With threads instead of fibers (`launch::os_threads`) a ThreadSanitizer sees every race, between
// blocks as well. The blocks of a cluster run together, in one team.
#pragma once

#include "pending_copies.hpp"

#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace support {

using slicesort::index_t;

struct block_fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// SLICESORT_BLOCK_THREADS=1 or 0 in the environment decides; else whether ThreadSanitizer is on.
bool prefer_os_threads();

struct launch {
  index_t blocks = 1;
  int threads = 32;
  int cluster = 1;  // blocks of a cluster
  std::size_t shared_bytes = 0;
  std::uint64_t seed = 1;
  bool os_threads = prefer_os_threads();
};

// The shared memory of one block.
class shared_pool {
 public:
  explicit shared_pool(std::size_t bytes);
  ~shared_pool();
  shared_pool(shared_pool const&) = delete;
  shared_pool& operator=(shared_pool const&) = delete;

  // Where a thread has got to in its walk over the slices.
  struct cursor {
    std::size_t slice = 0;
    std::size_t used = 0;  // bytes of the pool
  };
  void* take(cursor& at, std::size_t bytes);

  // The place in this pool of a place in another.
  void* at_place_of(void const* place, shared_pool const& other) {
    return base_ + (static_cast<unsigned char const*>(place) - other.base_);
  }

  void fill(unsigned char garbage);  // before a block
  void check();                      // after it

 private:
  static constexpr std::size_t most_slices = 32;
  static constexpr std::size_t zone = 128;

  std::size_t offset_of(cursor const& at) const { return (at.slice + 1) * zone + at.used; }

  std::size_t bytes_;
  std::vector<unsigned char> memory_;
  unsigned char* base_;  // 16-byte aligned
  std::size_t span_;     // from there
  unsigned char garbage_ = 0;
  std::array<std::atomic<std::size_t>, most_slices> taken_{};  // bytes + 1; 0: nobody yet
};

// What a thread does when it stops running.
enum class arrival : unsigned char { end, warp, sync, sync_or, cluster };

// The threads of one block, or of the blocks of one cluster, numbered through.
class block_team {
 public:
  explicit block_team(launch const& how)
      : size_(how.threads),
        seed_(how.seed),
        slots_(static_cast<std::size_t>(2 * how.threads * how.cluster)) {
    for (int i = 0; i < how.cluster; ++i) pools_.emplace_back(how.shared_bytes);
  }
  virtual ~block_team() = default;

  // Waits until all threads of the warp, the block or the cluster have arrived; whether any of the
  // block said true.
  virtual bool arrive(int thread, arrival how, bool vote) = 0;
  int size() const { return size_; }  // of a block
  int blocks() const { return static_cast<int>(pools_.size()); }
  std::uint64_t seed() const { return seed_; }
  shared_pool& pool(int block) { return pools_[static_cast<std::size_t>(block)]; }

  // What the threads of a warp show each other lies in two places in turn: whoever has passed the
  // meeting behind one may write the other, while the last still read.
  struct alignas(16) slot {
    static constexpr std::size_t bytes = 512;
    unsigned char value[bytes];
  };
  slot& shown(int thread, unsigned turn) {
    return slots_[static_cast<std::size_t>(2 * thread) + turn % 2];
  }

 private:
  int size_;
  std::uint64_t seed_;
  std::deque<shared_pool> pools_;
  std::vector<slot> slots_;
};

// The Block of detail/device/grid.hpp.
template <bool FastDouble>
class host_block {
 public:
  static constexpr bool fast_double = FastDouble, big_register_file = FastDouble;

  host_block(block_team& team, int thread, index_t cluster)
      : team_(team), thread_(thread), cluster_(cluster), copies_(lot_of(team, thread, cluster)) {}

  int rank() const { return thread_ % team_.size(); }
  int size() const { return team_.size(); }
  index_t index() const { return cluster_ * team_.blocks() + cluster_rank(); }
  void sync() { team_.arrive(thread_, arrival::sync, false); }
  bool sync_or(bool predicate) { return team_.arrive(thread_, arrival::sync_or, predicate); }

  int cluster_rank() const { return thread_ / team_.size(); }
  void sync_cluster() { team_.arrive(thread_, arrival::cluster, false); }
  template <class T>
  T* map_shared_rank(T* mine, int rank) {
    return static_cast<T*>(team_.pool(rank).at_place_of(mine, team_.pool(cluster_rank())));
  }

  template <class T>
  T* allocate(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16, "no type for shared memory");
    return static_cast<T*>(team_.pool(cluster_rank()).take(at_, count * sizeof(T)));
  }

  static void compare_exchange(std::uint32_t& low, std::uint32_t& high) {
    if (high < low) std::swap(low, high);
  }
  static bool at_most(float a, float b) {
    using namespace slicesort::detail;
    return sortable_key<float>(bit_cast<std::uint32_t>(a)) <=
           sortable_key<float>(bit_cast<std::uint32_t>(b));
  }
  static float canonicalize(float number) {
    auto const bits = slicesort::detail::bit_cast<std::uint32_t>(number), size = bits & 0x7fffffffu;
    return slicesort::detail::bit_cast<float>(size == 0            ? 0u
                                              : size > 0x7f800000u ? 0x7fffffffu
                                                                   : bits);
  }
  template <class N>
  static N opaque(N number) {
    N const volatile hidden = number;
    return hidden;
  }

  template <int Lanes, class V, class F>
  V reduce(V mine, F const& combine) {
    unsigned const turn = show(mine);
    std::array<V, static_cast<std::size_t>(Lanes)> all;
    int const first = thread_ / Lanes * Lanes;
    for (int i = 0; i < Lanes; ++i) all[static_cast<std::size_t>(i)] = shown<V>(first + i, turn);
    for (std::size_t width = Lanes / 2; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) all[i] = combine(all[i], all[i + width]);
    return all[0];
  }
  template <class Array>
  auto shfl_quad(Array const& mine) {
    unsigned const turn = show(mine);
    return [this, turn](int lane, int i) { return shown<Array>(thread_ / 4 * 4 + lane, turn)[i]; };
  }

  static float exp2(float x) { return std::exp2(x); }

  void copy_async(void* to, void const* from, int bytes) { copies_.start(to, from, bytes); }
  void await_copies() { copies_.await(); }

  template <int Width, class A, class T, int Rows, int Columns>
  void mma_abt(slicesort::detail::register_tile<A, Rows, Columns>& sums,
               slicesort::detail::tile_piece<T> const* a, slicesort::detail::tile_piece<T> const* b,
               int depth) {
    slicesort::detail::plain_mma_abt<Width>(*this, sums, a, b, depth);
  }
  template <class T, class Sums>
  static Sums mma_operand(Sums const& sums) {
    return slicesort::detail::plain_mma_operand<T>(sums);
  }
  template <int Width, class A, class T, class Weights, int Rows>
  void mma_ab(slicesort::detail::register_tile<A, Rows, Width / 8>& sums, Weights const& weights,
              slicesort::detail::tile_piece<T> const* x, int width) {
    slicesort::detail::plain_mma_ab<Width>(*this, sums, weights, x, width);
  }

  template <class A>
  A multiply_add(A a, A b, A c) {
    // Not volatile, the compiler could fuse the two, or a product that c is.
    A const volatile product = a * b, summand = c;
    return summand + product;
  }
  template <class A>
  A fused_multiply_add(A a, A b, A c) {
    return std::fma(a, b, c);
  }
  template <class A>
  A divide(A a, A b) {
    return a / b;
  }

 private:
  // Another for every thread of a launch, and always the same.
  static random_stream lot_of(block_team const& team, int thread, index_t cluster) {
    index_t const number = cluster * team.blocks() * team.size() + thread;
    return random_stream(random_stream::mix(team.seed()) + static_cast<std::uint64_t>(number));
  }

  template <class V>
  unsigned show(V const& mine) {
    static_assert(sizeof(V) <= block_team::slot::bytes && std::is_trivially_copyable_v<V>);
    if (team_.size() % slicesort::detail::warp_threads != 0)
      throw block_fault("threads show each other numbers in a block of " +
                        std::to_string(team_.size()) + ", which are no whole warps");
    unsigned const turn = turn_++;
    std::memcpy(team_.shown(thread_, turn).value, &mine, sizeof mine);
    team_.arrive(thread_, arrival::warp, false);
    return turn;
  }
  template <class V>
  V const& shown(int thread, unsigned turn) {
    return *reinterpret_cast<V const*>(team_.shown(thread, turn).value);
  }

  block_team& team_;
  int thread_;
  index_t cluster_;
  shared_pool::cursor at_;
  unsigned turn_ = 0;
  pending_copies copies_;
};

// What one thread of one cluster does.
using thread_function = void (*)(void const* kernel, block_team& team, int thread, index_t cluster);
void run_blocks(launch const& how, thread_function thread, void const* kernel);

template <bool FastDouble, class Kernel>
void run_kernel(launch const& how, Kernel const& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a body is passed as a kernel's argument");
  static_assert(sizeof(Kernel) <= 4096, "a kernel's arguments are at most 4 KB");
  if (how.threads > Kernel::max_threads)
    throw block_fault("a launch of " + std::to_string(how.threads) +
                      " threads, the body's most is " + std::to_string(Kernel::max_threads));
  run_blocks(
      how,
      [](void const* b, block_team& team, int thread, index_t cluster) {
        host_block<FastDouble> block(team, thread, cluster);
        (*static_cast<Kernel const*>(b))(block);
      },
      &kernel);
}

}  // namespace support
