// SPDX-License-Identifier: Apache-2.0
// Kernels that compute shuffle's permutations, before and after the sort of the hashes.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Computes hashes[0, n, c], the hash of row n in stream c.
struct hash_rows_kernel {
  static constexpr int max_threads = 256;

  std::uint64_t seed;
  tensor3<raw_key32> hashes;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const extents = hashes.extents();
    index_t const i = block.index() * block.size() + block.rank();
    if (i >= extents.size()) return;
    index_t const row = i / extents.channels, channel = i - row * extents.channels;
    hashes.data()[i] = {
        counter_hash32(seed, static_cast<std::uint64_t>(channel), static_cast<std::uint64_t>(row))};
  }
};

// Computes the permutations of shorter samples: the valid rows in the order of the full column.
// Rows past the length stay in place. Every thread takes consecutive rows of its column, and counts
// the valid rows of the threads before it.
struct shorten_orders_kernel {
  static constexpr int max_threads = 256;

  index_rows order;    // shared by all samples
  index_rows shorter;  // [batch, length, channels]
  extents3 extents;    // extents of `shorter`
  tensor1<index_t const> lengths;
  int width, threads;

  template <class SharedAllocator>
  SLICESORT_HD std::uint32_t* shared(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<std::uint32_t>(static_cast<std::size_t>(threads));
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    std::uint32_t* const counts = shared(block);
    auto const [walk, number, inside, column] = column_work(block, extents, width, false);
    index_column const from(order, column);
    index_t const valid = inside ? valid_rows(lengths, column.batch, extents.length) : 0;
    index_t const rows_of_thread = divide_up(extents.length, walk.step);
    index_t const first = walk.first_row * rows_of_thread;
    index_t const last =
        first + rows_of_thread < extents.length ? first + rows_of_thread : extents.length;

    std::uint32_t count = 0;
    if (inside)
      for (index_t i = first; i < last; ++i) count += static_cast<index_t>(from[i]) < valid;
    counts[block.rank()] = count;
    block.sync();
    if (!inside) return;

    index_t n = 0;
    for (int thread = walk.column; thread < block.rank(); thread += width) n += counts[thread];
    index_column const to(shorter, column);
    for (index_t i = first; i < last; ++i) {
      std::uint32_t const source = from[i];
      if (static_cast<index_t>(source) < valid) to.set(n++, source);
      if (i >= valid) to.set(i, static_cast<std::uint32_t>(i));
    }
  }
};

SLICESORT_DETAIL_END
