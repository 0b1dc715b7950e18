// SPDX-License-Identifier: Apache-2.0
// Right kernels, and kernels with one mistake each, which the block executor or a sanitizer
// must catch.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace support {

using slicesort::index_t;

// Every block reverses its part of x by way of shared memory, sums it by halves, and asks whether
// it holds a negative number.
struct reverse_and_sum {
  static constexpr int max_threads = 1024;
  int const* x;
  int* reversed;
  int* sums;
  int* any_negative;
  int size;

  struct memory {
    int* values;
    std::int16_t* one_byte_off;  // a slice that ends off the 16 bytes
    std::int64_t* partial;
  };
  template <class SharedAllocator>
  memory shared(SharedAllocator& shared_memory) const {
    auto const n = static_cast<std::size_t>(size);
    memory m{};
    m.values = shared_memory.template allocate<int>(n);
    m.one_byte_off = shared_memory.template allocate<std::int16_t>(n + 1);
    m.partial = shared_memory.template allocate<std::int64_t>(n);
    return m;
  }
  template <class Block>
  void operator()(Block& block) const {
    memory const m = shared(block);
    int const i = block.rank();
    index_t const first = block.index() * size;
    m.values[i] = x[first + i];
    m.one_byte_off[i + 1] = static_cast<std::int16_t>(i);
    m.partial[i] = x[first + i];
    block.sync();
    reversed[first + i] = m.values[m.one_byte_off[size - i]];
    for (int half = size / 2; half > 0; half /= 2) {
      if (i < half) m.partial[i] += m.partial[i + half];
      block.sync();
    }
    bool const negative = block.sync_or(x[first + i] < 0);
    if (i == 0) {
      sums[block.index()] = static_cast<int>(m.partial[0]);
      any_negative[block.index()] = negative;
    }
  }
};
// A kernel for blocks of 64 threads with a number of shared memory for each.
struct with_a_slice {
  static constexpr int max_threads = 1024;
  int* y;
  template <class SharedAllocator>
  int* shared(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<int>(64);
  }
};
// Everyone passes its rank on to the thread before.
struct right : with_a_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const s = shared(block);
    s[block.rank()] = block.rank();
    block.sync();
    y[block.index() * 64 + block.rank()] = s[(block.rank() + 1) % 64];
  }
};
struct missing_barrier : with_a_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const s = shared(block);
    s[block.rank()] = block.rank();
    y[block.index() * 64 + block.rank()] = s[(block.rank() + 1) % 64];
  }
};
struct missing_second_barrier : with_a_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const s = shared(block);
    s[block.rank()] = block.rank();
    block.sync();
    int const next = s[(block.rank() + 1) % 64];
    s[block.rank()] = -1;  // before the neighbor has read it
    y[block.index() * 64 + block.rank()] = next;
  }
};

// Everyone passes a number on to the other warp, and shows another to its own.
struct to_the_other_warp : with_a_slice {
  bool waits;  // as it must: what a warp shows itself is no barrier of the block
  template <class Block>
  void operator()(Block& block) const {
    int* const s = shared(block);
    s[block.rank()] = (block.rank() + 33) % 64;
    int const most =
        block.template reduce<32>(block.rank(), [](int a, int b) { return a > b ? a : b; });
    if (waits) block.sync();
    y[block.index() * 64 + block.rank()] =
        s[(block.rank() + 32) % 64] + most - block.rank() / 32 * 32 - 31;
  }
};
// Half a warp, which shows itself a number.
struct half_a_warp {
  static constexpr int max_threads = 1024;
  template <class Block>
  void operator()(Block& block) const {
    (void)block.template reduce<4>(block.rank(), [](int a, int b) { return a + b; });
  }
};
// Everyone reads the row of the next thread, and brings another into its own.
struct next_row {
  static constexpr int max_threads = 1024;
  struct alignas(16) row {
    int value;
  };
  row const* rows;  // 64 twice: those to read, and those to bring
  int* y;
  bool all_have_read;  // before the first is overwritten, as it must be

  template <class SharedAllocator>
  row* shared(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<row>(64);
  }
  template <class Block>
  void operator()(Block& block) const {
    row* const s = shared(block);
    int const i = block.rank();
    s[i] = rows[i];
    block.sync();
    auto const bring = [&] { block.copy_async(&s[i], &rows[64 + i], sizeof(row)); };
    if (!all_have_read) bring();
    int const next = s[(i + 1) % 64].value;
    block.sync();
    if (all_have_read) bring();
    block.await_copies();
    y[block.index() * 64 + i] = s[i].value == rows[64 + i].value ? next : -1;
  }
};

// Clusters of two blocks: everyone writes what the same thread of the other block has.
struct exchange_in_cluster : with_a_slice {
  bool waits;     // as it must
  bool one_ends;  // block 1 of a cluster, without waiting
  exchange_in_cluster(int* out, bool all_wait = true, bool without_waiting = false)
      : with_a_slice{out}, waits(all_wait), one_ends(without_waiting) {}
  template <class Block>
  void operator()(Block& block) const {
    int* const s = shared(block);
    s[block.rank()] = static_cast<int>(block.index()) * 64 + block.rank();
    if (block.cluster_rank() == 0) block.sync();  // barriers of a block are its own affair
    if (one_ends && block.cluster_rank() == 1) return;
    if (waits) block.sync_cluster();
    int const other = 1 - block.cluster_rank();
    y[block.index() * 64 + block.rank()] = block.map_shared_rank(s, other)[block.rank()];
    block.sync_cluster();
  }
};

enum class way_out { some_end, wrong_kind, one_more, half_of_a_warp };

struct divergent {
  static constexpr int max_threads = 1024;
  way_out how;
  template <class Block>
  void operator()(Block& block) const {
    block.sync();
    if (how == way_out::some_end && block.rank() < 32) return;
    if (how == way_out::wrong_kind && block.rank() == 5)
      (void)block.sync_or(true);
    else
      block.sync();
    if (how == way_out::one_more && block.rank() == 63) block.sync();
    if (how == way_out::half_of_a_warp && block.rank() < 48)
      (void)block.template reduce<4>(0, [](int a, int b) { return a + b; });
  }
};

// Takes other slices than it says.
struct wrong_walk {
  static constexpr int max_threads = 1024;
  std::size_t asked, taken_by_most, taken_by_last;
  template <class SharedAllocator>
  void shared(SharedAllocator& shared_memory) const {
    shared_memory.template allocate<int>(asked);
  }
  template <class Block>
  void operator()(Block& block) const {
    block.template allocate<int>(block.rank() == 63 ? taken_by_last : taken_by_most);
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

// One thread writes beside its slices; of the first, the last 8 of 64 bytes are padding.
struct overrun {
  static constexpr int max_threads = 1024;
  int slice;
  std::ptrdiff_t at;
  template <class SharedAllocator>
  std::array<unsigned char*, 2> shared(SharedAllocator& shared_memory) const {
    auto* const first = shared_memory.template allocate<unsigned char>(56);
    return {first, shared_memory.template allocate<unsigned char>(64)};
  }
  template <class Block>
  void operator()(Block& block) const {
    auto const slices = shared(block);
    // Another value than the garbage, which no two blocks have alike.
    if (block.rank() == 3) ++slices[static_cast<std::size_t>(slice)][at];
  }
};

struct read_leftover : with_a_slice {
  template <class Block>
  void operator()(Block& block) const {
    int* const s = shared(block);
    y[block.index() * block.size() + block.rank()] = s[block.rank()];
    s[block.rank()] = 0;  // the next block must not find it
  }
};

}  // namespace support
