// SPDX-License-Identifier: Apache-2.0
// Runs kernels (detail/device/grid.hpp) on the host, with the blocks they have on a device and one
// fiber, or one std::thread, for every CUDA thread. Errors that a device may not show, or show once
// in a thousand runs, are a block_fault here:
//
// - Shared memory has exactly the size that the launch requested. Every slice lies between red
//   zones, which AddressSanitizer also knows. The whole pool holds garbage before a block begins.
// - The threads of a block must agree: all wait at a barrier of one kind, or all return.
// - Between two barriers the threads run one after another in a random order, and so do the blocks.
//   A seed repeats a schedule.
// - A reduction or shuffle synchronizes one warp only: the first complete warp runs on to its next
//   barrier before the others have begun.
// - An asynchronous copy happens when it is started or when it is waited for, at random.
//
// With threads instead of fibers (`launch::os_threads`), ThreadSanitizer detects every race, also
// between blocks. The blocks of a cluster run together, in one team.
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

// True if SLICESORT_BLOCK_THREADS is 1; without that variable, if ThreadSanitizer is on.
bool prefer_os_threads();

struct launch {
  index_t blocks = 1;
  int threads = 32;
  int cluster = 1;  // blocks per cluster
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

  // A thread's progress through the slices that it allocates.
  struct cursor {
    std::size_t slice = 0;
    std::size_t used = 0;  // bytes of the pool
  };
  void* allocate(cursor& position, std::size_t bytes);

  // Translates an address in another block's pool to this one.
  void* translate(void const* address, shared_pool const& other) {
    return base_ + (static_cast<unsigned char const*>(address) - other.base_);
  }

  void fill(unsigned char garbage_tensor);  // called before a block
  void check();                             // called after a block

 private:
  static constexpr std::size_t max_slices = 32;
  static constexpr std::size_t red_zone = 128;

  std::size_t offset_of(cursor const& position) const {
    return (position.slice + 1) * red_zone + position.used;
  }

  std::size_t bytes_;
  std::vector<unsigned char> memory_;
  unsigned char* base_;  // 16-byte aligned
  std::size_t span_;     // bytes from base_
  unsigned char garbage_ = 0;
  std::array<std::atomic<std::size_t>, max_slices>
      slice_sizes_{};  // bytes + 1, or 0 before the allocation
};

// The event at which a thread stopped running.
enum class arrival : unsigned char { end, warp, sync, sync_or, cluster };

// The threads of one block, or of all blocks of one cluster, numbered consecutively.
class block_team {
 public:
  explicit block_team(launch const& config)
      : size_(config.threads),
        seed_(config.seed),
        lane_values_(static_cast<std::size_t>(2 * config.threads * config.cluster)) {
    for (int i = 0; i < config.cluster; ++i) pools_.emplace_back(config.shared_bytes);
  }
  virtual ~block_team() = default;

  // Waits until all threads of the warp, the block or the cluster have arrived. Returns true if any
  // thread of the block voted true.
  virtual bool arrive(int thread, arrival kind, bool vote) = 0;
  int size() const { return size_; }  // threads per block
  int blocks() const { return static_cast<int>(pools_.size()); }
  std::uint64_t seed() const { return seed_; }
  shared_pool& pool(int block) { return pools_[static_cast<std::size_t>(block)]; }

  // A value that a thread publishes to its warp. Each thread has two buffers, used alternately: a
  // thread that has passed a warp barrier may write its next value while others still read the
  // previous one.
  struct alignas(16) lane_value {
    static constexpr std::size_t bytes = 512;
    unsigned char memory[bytes];
  };
  lane_value& published(int thread, unsigned publication) {
    return lane_values_[static_cast<std::size_t>(2 * thread) + publication % 2];
  }

 private:
  int size_;
  std::uint64_t seed_;
  std::deque<shared_pool> pools_;
  std::vector<lane_value> lane_values_;
};

// The Block of detail/device/grid.hpp.
template <bool FastDouble>
class host_block {
 public:
  static constexpr bool fast_double = FastDouble, big_register_file = FastDouble;

  host_block(block_team& team, int thread, index_t cluster)
      : team_(team),
        thread_(thread),
        cluster_(cluster),
        copies_(random_of(team, thread, cluster)) {}

  int rank() const { return thread_ % team_.size(); }
  int size() const { return team_.size(); }
  index_t index() const { return cluster_ * team_.blocks() + cluster_rank(); }
  void sync() { team_.arrive(thread_, arrival::sync, false); }
  bool sync_or(bool predicate) { return team_.arrive(thread_, arrival::sync_or, predicate); }

  int cluster_rank() const { return thread_ / team_.size(); }
  void sync_cluster() { team_.arrive(thread_, arrival::cluster, false); }
  template <class T>
  T* map_shared_rank(T* value, int rank) {
    return static_cast<T*>(team_.pool(rank).translate(value, team_.pool(cluster_rank())));
  }

  template <class T>
  T* allocate(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16, "a type for shared memory");
    return static_cast<T*>(team_.pool(cluster_rank()).allocate(position_, count * sizeof(T)));
  }

  static void compare_exchange(std::uint32_t& low, std::uint32_t& high) {
    if (high < low) std::swap(low, high);
  }
  static bool at_most(float a, float b) {
    using namespace slicesort::detail;
    return sortable_key<float>(bit_cast<std::uint32_t>(a)) <=
           sortable_key<float>(bit_cast<std::uint32_t>(b));
  }
  static float canonicalize(float value) {
    auto const bits = slicesort::detail::bit_cast<std::uint32_t>(value),
               magnitude = bits & 0x7fffffffu;
    return slicesort::detail::bit_cast<float>(magnitude == 0            ? 0u
                                              : magnitude > 0x7f800000u ? 0x7fffffffu
                                                                        : bits);
  }
  template <class N>
  static N opaque(N value) {
    N const volatile hidden = value;
    return hidden;
  }

  template <int Lanes, class V, class F>
  V reduce(V value, F const& combine) {
    unsigned const publication = publish(value);
    std::array<V, static_cast<std::size_t>(Lanes)> values;
    int const first = thread_ / Lanes * Lanes;
    for (int i = 0; i < Lanes; ++i)
      values[static_cast<std::size_t>(i)] = published<V>(first + i, publication);
    for (std::size_t width = Lanes / 2; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) values[i] = combine(values[i], values[i + width]);
    return values[0];
  }
  template <class Array>
  auto shfl_quad(Array const& value) {
    unsigned const publication = publish(value);
    return [this, publication](int lane, int i) {
      return published<Array>(thread_ / 4 * 4 + lane, publication)[i];
    };
  }

  static float exp2(float x) { return std::exp2(x); }

  void copy_async(void* to, void const* from, int bytes) { copies_.start(to, from, bytes); }
  void await_copies() { copies_.await(); }

  template <int Width, class A, class T, int Rows, int Columns>
  void mma_abt(slicesort::detail::register_tile<A, Rows, Columns>& sums,
               slicesort::detail::tile_vector16<T> const* a,
               slicesort::detail::tile_vector16<T> const* b, int depth) {
    slicesort::detail::plain_mma_abt<Width>(*this, sums, a, b, depth);
  }
  template <class T, class Sums>
  static Sums mma_operand(Sums const& sums) {
    return slicesort::detail::plain_mma_operand<T>(sums);
  }
  template <int Width, class A, class T, class Weights, int Rows>
  void mma_ab(slicesort::detail::register_tile<A, Rows, Width / 8>& sums, Weights const& weights,
              slicesort::detail::tile_vector16<T> const* x, int width) {
    slicesort::detail::plain_mma_ab<Width>(*this, sums, weights, x, width);
  }

  template <class A>
  A multiply_add(A a, A b, A c) {
    // Volatile, so that the compiler cannot fuse the multiplication and the addition.
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
  // Returns a random sequence for one thread of the launch. It depends only on the seed.
  static random_stream random_of(block_team const& team, int thread, index_t cluster) {
    index_t const launch_thread = cluster * team.blocks() * team.size() + thread;
    return random_stream(random_stream::mix(team.seed()) +
                         static_cast<std::uint64_t>(launch_thread));
  }

  template <class V>
  unsigned publish(V const& value) {
    static_assert(sizeof(V) <= block_team::lane_value::bytes && std::is_trivially_copyable_v<V>);
    if (team_.size() % slicesort::detail::warp_threads != 0)
      throw block_fault("threads show each other numbers in a block of " +
                        std::to_string(team_.size()) + ", which are no whole warps");
    unsigned const publication = publications_++;
    std::memcpy(team_.published(thread_, publication).memory, &value, sizeof value);
    team_.arrive(thread_, arrival::warp, false);
    return publication;
  }
  template <class V>
  V const& published(int thread, unsigned publication) {
    return *reinterpret_cast<V const*>(team_.published(thread, publication).memory);
  }

  block_team& team_;
  int thread_;
  index_t cluster_;
  shared_pool::cursor position_;
  unsigned publications_ = 0;
  pending_copies copies_;
};

// Runs a kernel for one thread of one cluster.
using thread_function = void (*)(void const* kernel, block_team& team, int thread, index_t cluster);
void run_blocks(launch const& config, thread_function thread, void const* kernel);

template <bool FastDouble, class Kernel>
void run_kernel(launch const& config, Kernel const& kernel) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel struct is passed as an argument");
  static_assert(sizeof(Kernel) <= 4096, "a kernel's arguments are at most 4 KB");
  if (config.threads > Kernel::max_threads)
    throw block_fault("a launch of " + std::to_string(config.threads) +
                      " threads, the kernel's maximum is " + std::to_string(Kernel::max_threads));
  run_blocks(
      config,
      [](void const* kernel_address, block_team& team, int thread, index_t cluster) {
        host_block<FastDouble> block(team, thread, cluster);
        (*static_cast<Kernel const*>(kernel_address))(block);
      },
      &kernel);
}

}  // namespace support
