// SPDX-License-Identifier: Apache-2.0
// Correct kernels, and kernels with one mistake each that the block executor or a sanitizer must
// report.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace support {

using slicesort::index_t;

// Every block reverses its slice of x through shared memory, sums it in a tree, and tests it for
// negative numbers.
struct reverse_and_sum {
  static constexpr int max_threads = 1024;
  int const* x;
  int* reversed;
  int* sums;
  int* any_negative;
  int size;

  struct shared_arrays {
    int* values;
    std::int16_t* odd_sized;  // a slice whose size is not a multiple of 16
    std::int64_t* partial;
  };
  template <class SharedAllocator>
  shared_arrays shared(SharedAllocator& shared_memory) const {
    auto const n = static_cast<std::size_t>(size);
    shared_arrays arrays{};
    arrays.values = shared_memory.template allocate<int>(n);
    arrays.odd_sized = shared_memory.template allocate<std::int16_t>(n + 1);
    arrays.partial = shared_memory.template allocate<std::int64_t>(n);
    return arrays;
  }
  template <class Block>
  void operator()(Block& block) const {
    shared_arrays const arrays = shared(block);
    int const i = block.rank();
    index_t const first = block.index() * size;
    arrays.values[i] = x[first + i];
    arrays.odd_sized[i + 1] = static_cast<std::int16_t>(i);
    arrays.partial[i] = x[first + i];
    block.sync();
    reversed[first + i] = arrays.values[arrays.odd_sized[size - i]];
    for (int half = size / 2; half > 0; half /= 2) {
      if (i < half) arrays.partial[i] += arrays.partial[i + half];
      block.sync();
    }
    bool const has_negative = block.sync_or(x[first + i] < 0);
    if (i == 0) {
      sums[block.index()] = static_cast<int>(arrays.partial[0]);
      any_negative[block.index()] = has_negative;
    }
  }
};
// A kernel for blocks of 64 threads with one int of shared memory for each.
struct kernel_with_slice {
  static constexpr int max_threads = 1024;
  int* y;
  template <class SharedAllocator>
  int* shared(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<int>(64);
  }
};
// Every thread passes its rank to the preceding thread.
struct correct_kernel : kernel_with_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const values = shared(block);
    values[block.rank()] = block.rank();
    block.sync();
    y[block.index() * 64 + block.rank()] = values[(block.rank() + 1) % 64];
  }
};
struct missing_barrier : kernel_with_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const values = shared(block);
    values[block.rank()] = block.rank();
    y[block.index() * 64 + block.rank()] = values[(block.rank() + 1) % 64];
  }
};
struct missing_second_barrier : kernel_with_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const values = shared(block);
    values[block.rank()] = block.rank();
    block.sync();
    int const next = values[(block.rank() + 1) % 64];
    values[block.rank()] = -1;  // written before the neighbor has read the old value
    y[block.index() * 64 + block.rank()] = next;
  }
};

// Every thread passes a value to the other warp, and reduces another value within its own warp.
struct pass_to_other_warp : kernel_with_slice {
  bool waits;  // must be true: a warp reduction is not a block barrier
  template <class Block>
  void operator()(Block& block) const {
    int* const values = shared(block);
    values[block.rank()] = (block.rank() + 33) % 64;
    int const max_rank =
        block.template reduce<32>(block.rank(), [](int a, int b) { return a > b ? a : b; });
    if (waits) block.sync();
    y[block.index() * 64 + block.rank()] =
        values[(block.rank() + 32) % 64] + max_rank - block.rank() / 32 * 32 - 31;
  }
};
// A reduction in a block of half a warp.
struct reduce_half_warp {
  static constexpr int max_threads = 1024;
  template <class Block>
  void operator()(Block& block) const {
    (void)block.template reduce<4>(block.rank(), [](int a, int b) { return a + b; });
  }
};
// Every thread reads the next thread's row, and overwrites its own by an asynchronous copy.
struct next_row {
  static constexpr int max_threads = 1024;
  struct alignas(16) row {
    int value;
  };
  row const* rows;  // 64 to read, then 64 to copy
  int* y;
  bool waits_for_readers;  // true: copies only after a barrier, as required

  template <class SharedAllocator>
  row* shared(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<row>(64);
  }
  template <class Block>
  void operator()(Block& block) const {
    row* const values = shared(block);
    int const i = block.rank();
    values[i] = rows[i];
    block.sync();
    auto const overwrite = [&] { block.copy_async(&values[i], &rows[64 + i], sizeof(row)); };
    if (!waits_for_readers) overwrite();
    int const next = values[(i + 1) % 64].value;
    block.sync();
    if (waits_for_readers) overwrite();
    block.await_copies();
    y[block.index() * 64 + i] = values[i].value == rows[64 + i].value ? next : -1;
  }
};

// Clusters of two blocks: every thread writes the value of the same thread of the other block.
struct exchange_in_cluster : kernel_with_slice {
  bool waits;            // must be true
  bool block_1_returns;  // block 1 of a cluster returns without waiting
  exchange_in_cluster(int* output, bool all_wait = true, bool without_waiting = false)
      : kernel_with_slice{output}, waits(all_wait), block_1_returns(without_waiting) {}
  template <class Block>
  void operator()(Block& block) const {
    int* const values = shared(block);
    values[block.rank()] = static_cast<int>(block.index()) * 64 + block.rank();
    if (block.cluster_rank() == 0)
      block.sync();  // a barrier of one block does not affect the other
    if (block_1_returns && block.cluster_rank() == 1) return;
    if (waits) block.sync_cluster();
    int const other_rank = 1 - block.cluster_rank();
    y[block.index() * 64 + block.rank()] = block.map_shared_rank(values, other_rank)[block.rank()];
    block.sync_cluster();
  }
};

enum class divergence { some_return, wrong_kind, extra_barrier, half_warp };

struct divergent {
  static constexpr int max_threads = 1024;
  divergence kind;
  template <class Block>
  void operator()(Block& block) const {
    block.sync();
    if (kind == divergence::some_return && block.rank() < 32) return;
    if (kind == divergence::wrong_kind && block.rank() == 5)
      (void)block.sync_or(true);
    else
      block.sync();
    if (kind == divergence::extra_barrier && block.rank() == 63) block.sync();
    if (kind == divergence::half_warp && block.rank() < 48)
      (void)block.template reduce<4>(0, [](int a, int b) { return a + b; });
  }
};

// Allocates different slices than shared() declares.
struct mismatched_slices {
  static constexpr int max_threads = 1024;
  std::size_t requested, allocated_by_others, allocated_by_last;
  template <class SharedAllocator>
  void shared(SharedAllocator& shared_memory) const {
    shared_memory.template allocate<int>(requested);
  }
  template <class Block>
  void operator()(Block& block) const {
    block.template allocate<int>(block.rank() == 63 ? allocated_by_last : allocated_by_others);
  }
};
struct many_slices {
  static constexpr int max_threads = 1024;
  template <class SharedAllocator>
  void shared(SharedAllocator& shared_memory) const {
    shared_memory.template allocate<int>(1000);
  }
  template <class Block>
  void operator()(Block& block) const {
    for (int i = 0; i < 33; ++i) block.template allocate<int>(1);
  }
};

// One thread writes outside its slices. The last 8 of the first slice's 64 bytes are padding.
struct overrun {
  static constexpr int max_threads = 1024;
  int slice;
  std::ptrdiff_t offset;
  template <class SharedAllocator>
  std::array<unsigned char*, 2> shared(SharedAllocator& shared_memory) const {
    auto* const first = shared_memory.template allocate<unsigned char>(56);
    return {first, shared_memory.template allocate<unsigned char>(64)};
  }
  template <class Block>
  void operator()(Block& block) const {
    auto const slices = shared(block);
    // An increment always differs from the garbage, which is random for each block.
    if (block.rank() == 3) ++slices[static_cast<std::size_t>(slice)][offset];
  }
};

struct read_leftover : kernel_with_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const values = shared(block);
    y[block.index() * block.size() + block.rank()] = values[block.rank()];
    values[block.rank()] = 0;  // the next block must not read this 0
  }
};

}  // namespace support
