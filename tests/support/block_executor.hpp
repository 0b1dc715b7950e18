// SPDX-License-Identifier: Apache-2.0
// Runs kernel bodies (detail/block/grid.hpp) on the host, with the blocks they have on a device and
// one fiber, or one std::thread, for every CUDA thread. What a device would let pass, or would do
// wrong once in a thousand runs, is a block_fault here:
//
// - Shared memory is exactly what the launch asked for. Every slice lies between red zones, which
//   AddressSanitizer knows too, and all of it holds garbage before a block begins.
// - The threads of a block must agree: all wait at a barrier of one kind, or all end.
// - Between two barriers the threads run one after another in a random order, each time another;
//   so do the blocks. A seed repeats a schedule.
//
// With threads instead of fibers (`launch::os_threads`) a ThreadSanitizer sees every race, between
// blocks as well. The blocks of a cluster run together, in one team.
#pragma once

#include <slicesort/detail/block/grid.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
enum class arrival : unsigned char { end, sync, any, cluster };

// The threads of one block, or of the blocks of one cluster, numbered through.
class block_team {
 public:
  explicit block_team(launch const& how) : size_(how.threads) {
    for (int i = 0; i < how.cluster; ++i) pools_.emplace_back(how.shared_bytes);
  }
  virtual ~block_team() = default;

  // Waits until all threads of the block, or of the cluster, have arrived; whether any of the block
  // said true.
  virtual bool arrive(int thread, arrival how, bool vote) = 0;
  int size() const { return size_; }  // of a block
  int blocks() const { return static_cast<int>(pools_.size()); }
  shared_pool& pool(int block) { return pools_[static_cast<std::size_t>(block)]; }

 private:
  int size_;
  std::deque<shared_pool> pools_;
};

// The Block of detail/block/grid.hpp.
template <bool FastDouble>
class host_block {
 public:
  static constexpr bool fast_double = FastDouble, spacious = FastDouble;

  host_block(block_team& team, int thread, index_t cluster)
      : team_(team), thread_(thread), cluster_(cluster) {}

  int rank() const { return thread_ % team_.size(); }
  int size() const { return team_.size(); }
  index_t index() const { return cluster_ * team_.blocks() + cluster_rank(); }
  void sync() { team_.arrive(thread_, arrival::sync, false); }
  bool any(bool predicate) { return team_.arrive(thread_, arrival::any, predicate); }

  int cluster_rank() const { return thread_ / team_.size(); }
  void sync_cluster() { team_.arrive(thread_, arrival::cluster, false); }
  template <class T>
  T* of_block(T* mine, int rank) {
    return static_cast<T*>(team_.pool(rank).at_place_of(mine, team_.pool(cluster_rank())));
  }

  template <class T>
  T* take(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16, "no type for shared memory");
    return static_cast<T*>(team_.pool(cluster_rank()).take(at_, count * sizeof(T)));
  }

  static void order(std::uint32_t& low, std::uint32_t& high) {
    if (high < low) std::swap(low, high);
  }
  template <class N>
  static N renew(N number) {
    N const volatile hidden = number;
    return hidden;
  }

  template <class A>
  A multiply_add(A a, A b, A c) {
    A const volatile product = a * b;  // or the compiler may fuse the two
    return c + product;
  }
  template <class A>
  A fused_multiply_add(A a, A b, A c) {
    return std::fma(a, b, c);
  }

 private:
  block_team& team_;
  int thread_;
  index_t cluster_;
  shared_pool::cursor at_;
};

// What one thread of one cluster does.
using thread_function = void (*)(void const* body, block_team& team, int thread, index_t cluster);
void run_blocks(launch const& how, thread_function thread, void const* body);

template <bool FastDouble, class Body>
void run_body(launch const& how, Body const& body) {
  static_assert(std::is_trivially_copyable_v<Body>, "a body is passed as a kernel's argument");
  static_assert(sizeof(Body) <= 4096, "a kernel's arguments are at most 4 KB");
  if (how.threads > Body::max_threads)
    throw block_fault("a launch of " + std::to_string(how.threads) +
                      " threads, the body's most is " + std::to_string(Body::max_threads));
  run_blocks(
      how,
      [](void const* b, block_team& team, int thread, index_t cluster) {
        host_block<FastDouble> block(team, thread, cluster);
        (*static_cast<Body const*>(b))(block);
      },
      &body);
}

}  // namespace support
