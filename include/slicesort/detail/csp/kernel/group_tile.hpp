// SPDX-License-Identifier: Apache-2.0
// Columns whose groups are sorted by one thread each. Channels with different shifts read different
// rows at a time, and memory would deliver eight times the bytes that are needed. So a tile of
// whole columns is staged in shared memory first. Where nothing is shifted, or a column is too
// long, groups are read from the tensor.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/kernel/groups.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// A unit is what a thread sorts at a time: a group, or eight pairs. One free row after every 2^Pad
// rows of a tile keeps threads with neighboring units of a column out of each other's memory banks.
template <class T, int Pad>
struct group_tile {
  static constexpr int at_once = 8;  // elements that a thread has in flight

  int width;  // columns: a power of two that divides the block
  bool staged;
  bool rows_adjacent;
  std::uint32_t units;           // of a column
  std::uint32_t units_of_block;  // all, if staged
  index_t blocks_of_tile;

  SLICESORT_HD static constexpr index_t padded(index_t rows) { return rows + (rows >> Pad); }

  template <class SharedAllocator>
  SLICESORT_HD T* shared(SharedAllocator& shared_memory, extents3 e) const {
    if (!staged) return nullptr;
    return shared_memory.template allocate<T>(static_cast<std::size_t>(padded(e.length)) *
                                              static_cast<std::size_t>(width));
  }

  // A thread's part of the tile.
  struct thread_work {
    tensor3<T const> const& x;
    bool inside = false;
    column_index at{};
    csp_column column{};
    std::uint32_t first = 0, last = 0, step = 0;  // units
    bool staged = false;
    T const* tile = nullptr;  // its column of the tile
    int width = 0;

    // Whether `count` rows from `row` on are valid and come from consecutive rows.
    SLICESORT_HD_INLINE bool contiguous(std::uint32_t row, std::uint32_t count) const {
      return row + count <= column.valid && column.source(row) + count <= column.valid;
    }
    // value[k] = the bits of row `row` + k after the shift, for rows below `end`.
    template <class Bits, std::size_t Count>
    SLICESORT_HD_INLINE void read(std::uint32_t row, std::uint32_t end,
                                  Bits (&value)[Count]) const {
      if (contiguous(row, Count))
        read_contiguous(row, static_cast<int>(end - row), value);
      else
        read_scattered(row, end, value);
    }
    template <class Bits, std::size_t Count>
    SLICESORT_HD_INLINE void read_scattered(std::uint32_t row, std::uint32_t end,
                                            Bits (&value)[Count]) const {
      SLICESORT_UNROLL
      for (std::uint32_t k = 0; k < Count; ++k)
        value[k] = row + k < end ? detail::bit_cast<Bits>((*this)[row + k]) : Bits{0};
    }
    // value[k] = the bits of row `row` + k for k < wanted, of rows that are contiguous.
    template <class Bits, std::size_t Count>
    SLICESORT_HD_INLINE void read_contiguous(std::uint32_t row, int wanted,
                                             Bits (&value)[Count]) const {
      static_assert(Count <= std::size_t{1} << Pad, "they cross one free row at most");
      std::uint32_t const from = column.source(row);
      if (staged) {
        constexpr int run = 1 << Pad;
        int const before_free = run - static_cast<int>(from % run);
        T const* source = tile + static_cast<int>(padded_row_of(from)) * width;
        SLICESORT_UNROLL
        for (int k = 0; k < static_cast<int>(Count); ++k) {
          if (k == before_free) source += width;
          value[k] = k < wanted ? detail::bit_cast<Bits>(*source) : Bits{0};
          source += width;
        }
      } else {
        column_of<T const> const values(x, at);
        T const* source = values.data + static_cast<index_t>(from) * values.stride;
        SLICESORT_UNROLL
        for (int k = 0; k < static_cast<int>(Count); ++k) {
          value[k] = k < wanted ? detail::bit_cast<Bits>(*source) : Bits{0};
          source += values.stride;
        }
      }
    }
    SLICESORT_HD_INLINE T operator[](std::uint32_t row) const {
      return staged ? in_tile(row) : in_tensor(row);
    }

   private:
    SLICESORT_HD_INLINE T in_tile(std::uint32_t row) const {
      return tile[static_cast<int>(padded_row_of(column.source(row))) * width];
    }
    SLICESORT_HD_INLINE T in_tensor(std::uint32_t row) const {
      return column_of<T const>(x, at)[static_cast<index_t>(column.source(row))];
    }
  };
  SLICESORT_HD_INLINE static std::uint32_t padded_row_of(std::uint32_t row) {
    return row + (row >> Pad);
  }

  // Finds this thread's work, and stages the tile in shared memory: a barrier.
  template <class Block>
  SLICESORT_HD_INLINE thread_work open(Block& block, csp_groups const& groups,
                                       tensor3<T const> const& x) const {
    extents3 const e = groups.extents;
    T* const tile = shared(block, e);
    tile_walk const walk(block.rank(), block.size(), width, rows_adjacent);
    index_t const of_tile = blocks_of_tile == 1 ? block.index() : block.index() / blocks_of_tile;
    auto const part = static_cast<std::uint32_t>(block.index() - of_tile * blocks_of_tile);
    index_t const number = of_tile * width + walk.column;
    bool const inside = number < e.batch * e.channels;
    column_index const at = inside ? column_index_of(number, e.channels) : column_index{0, 0};
    if (staged) {
      if (inside)
        load(column_of<T const>(x, at), static_cast<int>(e.length), walk, tile + walk.column);
      block.sync();
    }
    std::uint32_t const first = part * units_of_block;
    std::uint32_t const left = units - first;
    thread_work work{x};
    work.inside = inside;
    work.at = at;
    work.column = groups.column(at);
    work.first = first + static_cast<std::uint32_t>(walk.first_row);
    work.last = first + (left < units_of_block ? left : units_of_block);
    work.step = static_cast<std::uint32_t>(walk.step);
    work.staged = staged;
    work.tile = tile + walk.column;
    work.width = width;
    return work;
  }

 private:
  SLICESORT_HD_INLINE void load(column_of<T const> from, int length, tile_walk walk,
                                T* tile) const {
    if (walk.first_row >= length) return;
    index_t const jump = jump_of(walk.step, length, from.stride);
    T const* source = from.data + walk.first_row * from.stride;
    for (int row = walk.first_row; row < length;) {
      T value[at_once];
      SLICESORT_UNROLL
      for (int k = 0; k < at_once; ++k)
        if (row + k * walk.step < length) {
          value[k] = *source;
          source += jump;
        }
      SLICESORT_UNROLL
      for (int k = 0; k < at_once; ++k, row += walk.step)
        if (row < length) tile[(row + (row >> Pad)) * width] = value[k];
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
