// SPDX-License-Identifier: Apache-2.0
// Weights and links of sparse_mix, packed for its kernels. The weights of neighboring rows are
// adjacent and have the accumulator's type. A link is a distance of 0..n-1 rows, so kernels need no
// division. Packing for backward reverses the links, so backward runs the forward kernels.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Packed weights in the workspace. Row p of a factor's output is the sum of rows (p + distances[k])
// mod n, weighted by weights[k * length + p]. Weights past the valid rows are undefined.
template <class A>
struct packed_weights {
  A* weights = nullptr;                // [samples, factors, links, length]
  std::uint32_t* distances = nullptr;  // [samples, factors, links]
  index_t factors = 0, links = 0, length = 0;

  SLICESORT_HD A* weights_of(index_t sample, index_t factor) const {
    return weights + (sample * factors + factor) * links * length;
  }
  SLICESORT_HD std::uint32_t* distances_of(index_t sample, index_t factor) const {
    return distances + (sample * factors + factor) * links;
  }
};

// Returns (row + distance) mod n. Requires row < n and distance < n.
SLICESORT_HD_INLINE std::uint32_t wrapped_row(std::uint32_t row, std::uint32_t distance,
                                              std::uint32_t n) {
  std::uint32_t const sum = row + distance, wrapped = sum - n;
  return wrapped < sum ? wrapped : sum;  // sum - n wraps to a large value if sum < n
}

// Packs weights: [length, links] -> [links, length], one tile per block.
template <class T>
struct pack_weights_kernel {
  static constexpr int max_threads = 256;
  static constexpr int rows_per_block = 64, links_per_block = 32;
  using A = accumulator_t<T>;

  tensor_stack<T const> source;  // [factors, samples, length, links]
  index_t const* offsets;        // [factors, links]
  tensor1<index_t const> lengths;
  index_t first_factor, factor_count;  // factors to pack
  bool backward;                       // true to pack for backward
  int link_threads;                    // threads along the links: a power of two up to 32
  packed_weights<A> packed;

  struct shared_buffers {
    A* tile;  // [links, rows], padded by a row to avoid bank conflicts
    std::uint32_t* distances;
  };
  static constexpr int pitch = rows_per_block + 1;
  template <class SharedAllocator>
  SLICESORT_HD shared_buffers shared(SharedAllocator& allocator) const {
    constexpr auto links = static_cast<std::size_t>(links_per_block);
    A* const tile = allocator.template allocate<A>(links * static_cast<std::size_t>(pitch));
    return {tile, allocator.template allocate<std::uint32_t>(links)};
  }

  index_t blocks() const {
    return source.extents().batch * factor_count * divide_up(packed.links, links_per_block) *
           divide_up(packed.length, rows_per_block);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    shared_buffers const staged = shared(block);
    index_t const row_blocks = divide_up(packed.length, rows_per_block);
    index_t const link_blocks = divide_up(packed.links, links_per_block);
    index_t block_index = block.index();
    index_t const row_block = block_index % row_blocks;
    block_index /= row_blocks;
    index_t const first_link = block_index % link_blocks * links_per_block;
    block_index /= link_blocks;
    index_t const factor = first_factor + block_index % factor_count,
                  sample = block_index / factor_count;

    index_t const n = valid_rows(lengths, sample, packed.length),
                  first_row = row_block * rows_per_block;
    auto const rows = static_cast<int>(
        n - first_row < rows_per_block ? (n < first_row ? 0 : n - first_row) : rows_per_block);
    index_t const remaining_links = packed.links - first_link;
    int const links =
        remaining_links < links_per_block ? static_cast<int>(remaining_links) : links_per_block;

    if (block.rank() < links) {
      index_t const k = first_link + block.rank();
      index_t const distance = wrap_row(offsets[factor * packed.links + k], n);
      staged.distances[block.rank()] = static_cast<std::uint32_t>(distance);
      if (row_block == 0)
        packed.distances_of(sample, factor)[k] =
            static_cast<std::uint32_t>(backward && distance != 0 ? n - distance : distance);
    }
    int const k = block.rank() % link_threads;
    if (k < links)
      for (int row = block.rank() / link_threads; row < rows; row += block.size() / link_threads)
        staged.tile[k * pitch + row] =
            static_cast<A>(source(factor, sample, first_row + row, first_link + k));
    block.sync();
    A* const weights = packed.weights_of(sample, factor) + first_link * packed.length;
    for (int i = block.rank(); i < links * rows_per_block; i += block.size()) {
      int const row = i % rows_per_block, link = i / rows_per_block;
      if (row >= rows) continue;
      auto const row_index = static_cast<std::uint32_t>(first_row + row);
      index_t const packed_row =
          backward ? wrapped_row(row_index, staged.distances[link], static_cast<std::uint32_t>(n))
                   : row_index;
      weights[link * packed.length + packed_row] = staged.tile[link * pitch + row];
    }
  }
};

SLICESORT_DETAIL_END
