// SPDX-License-Identifier: Apache-2.0
// The factors of sparse_mix as its kernels read them: the weights of neighboring rows side by side,
// in the accumulator's type, and every link as a distance of 0..n-1 rows. So the kernels need no
// division, and backward, which follows links from their other end, is forward with other factors.
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

// The packed weights of some samples, in the workspace. Row p of factor f is mixed from rows (p +
// jumps[k]) mod n, by weights[k * length + p]; weights of rows that are not valid are undefined.
template <class A>
struct packed_weights {
  A* weights = nullptr;            // [samples, factors, links, length]
  std::uint32_t* jumps = nullptr;  // [samples, factors, links]
  index_t factors = 0, links = 0, length = 0;

  SLICESORT_HD A* weights_of(index_t sample, index_t factor) const {
    return weights + (sample * factors + factor) * links * length;
  }
  SLICESORT_HD std::uint32_t* jumps_of(index_t sample, index_t factor) const {
    return jumps + (sample * factors + factor) * links;
  }
};

// The row `jump` rows after `row` in a circle of n rows, with row < n and jump < n.
SLICESORT_HD_INLINE std::uint32_t row_behind(std::uint32_t row, std::uint32_t jump,
                                             std::uint32_t n) {
  std::uint32_t const there = row + jump, wrapped = there - n;
  return wrapped < there ? wrapped : there;  // unsigned: if there < n, there - n is huge
}

// Packs the weights w. A block transposes a tile of rows and links.
template <class T>
struct pack_weights_kernel {
  static constexpr int max_threads = 256;
  static constexpr int rows_of_block = 64, links_of_block = 32;
  using A = accumulator_t<T>;

  tensor_stack<T const> w;  // [factors, samples, length, links]
  index_t const* offsets;   // [factors, links]
  tensor1<index_t const> lengths;
  index_t first_factor, count;  // the factors to pack
  bool back;                    // packs for backward
  int lanes;                    // threads side by side along links: a power of two up to 32
  packed_weights<A> to;

  struct memory {
    A* tile;  // [links, rows], padded by a row against bank conflicts
    std::uint32_t* ahead;
  };
  static constexpr int pitch = rows_of_block + 1;
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    constexpr auto links = static_cast<std::size_t>(links_of_block);
    A* const tile = shared_memory.template allocate<A>(links * static_cast<std::size_t>(pitch));
    return {tile, shared_memory.template allocate<std::uint32_t>(links)};
  }

  index_t blocks() const {
    return w.extents().batch * count * divide_up(to.links, links_of_block) *
           divide_up(to.length, rows_of_block);
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    index_t const parts = divide_up(to.length, rows_of_block);
    index_t const tiles = divide_up(to.links, links_of_block);
    index_t number = block.index();
    index_t const part = number % parts;
    number /= parts;
    index_t const first_link = number % tiles * links_of_block;
    number /= tiles;
    index_t const factor = first_factor + number % count, sample = number / count;

    index_t const n = valid_rows(lengths, sample, to.length), first_row = part * rows_of_block;
    auto const rows = static_cast<int>(
        n - first_row < rows_of_block ? (n < first_row ? 0 : n - first_row) : rows_of_block);
    index_t const left = to.links - first_link;
    int const links = left < links_of_block ? static_cast<int>(left) : links_of_block;

    if (block.rank() < links) {
      index_t const k = first_link + block.rank();
      index_t const ahead = wrapped(offsets[factor * to.links + k], n);
      m.ahead[block.rank()] = static_cast<std::uint32_t>(ahead);
      if (part == 0)
        to.jumps_of(sample, factor)[k] =
            static_cast<std::uint32_t>(back && ahead != 0 ? n - ahead : ahead);
    }
    int const k = block.rank() % lanes;
    if (k < links)
      for (int row = block.rank() / lanes; row < rows; row += block.size() / lanes)
        m.tile[k * pitch + row] =
            static_cast<A>(w(factor, sample, first_row + row, first_link + k));
    block.sync();
    A* const out = to.weights_of(sample, factor) + first_link * to.length;
    for (int i = block.rank(); i < links * rows_of_block; i += block.size()) {
      int const row = i % rows_of_block, link = i / rows_of_block;
      if (row >= rows) continue;
      auto const from = static_cast<std::uint32_t>(first_row + row);
      index_t const at =
          back ? row_behind(from, m.ahead[link], static_cast<std::uint32_t>(n)) : from;
      out[link * to.length + at] = m.tile[link * pitch + row];
    }
  }
};

SLICESORT_DETAIL_END
