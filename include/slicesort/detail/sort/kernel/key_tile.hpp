// SPDX-License-Identifier: Apache-2.0
// A tile of words in shared memory: rows x columns, columns adjacent.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/grid.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// Rows of one thread lie 2^Levels rows apart from the next thread's, or a multiple. After as many rows
// one more is left free, or both threads would meet in one memory bank.
template <int Levels>
SLICESORT_HD constexpr int padded_row(int row) {
  return row + (row >> Levels);
}

template <class Words, int Levels>
struct key_tile {
  using words = Words;
  using word = typename Words::type;
  using high_type = typename Words::high_type;

  high_type* high;
  std::uint16_t* low;
  int width;

  template <class SharedAllocator>
  static SLICESORT_HD key_tile take(SharedAllocator& shared_memory, int rows, int width) {
    auto const count =
        static_cast<std::size_t>(padded_row<Levels>(rows)) * static_cast<std::size_t>(width);
    key_tile t{shared_memory.template take<high_type>(count), nullptr, width};
    if constexpr (Words::has_low) t.low = shared_memory.template take<std::uint16_t>(count);
    return t;
  }

  SLICESORT_HD int position(int row, int column) const {
    return padded_row<Levels>(row) * width + column;
  }
  SLICESORT_HD_INLINE word load(int position) const {
    if constexpr (Words::has_low)
      return Words::join(high[position], low[position]);
    else
      return Words::join(high[position], 0);
  }
  SLICESORT_HD_INLINE void store(int position, word w) const {
    high[position] = Words::high(w);
    if constexpr (Words::has_low) low[position] = Words::low(w);
  }

  // The same place holding a value's bits and a row, which no network understands.
  template <class Bits>
  SLICESORT_HD void store_value(int position, Bits value, std::uint32_t row) const {
    if constexpr (Words::has_low) {
      high[position] = value;
      low[position] = static_cast<std::uint16_t>(row);
    } else {
      high[position] = static_cast<high_type>(value) << 16 | row;
    }
  }
  template <class Bits>
  SLICESORT_HD Bits value(int position) const {
    if constexpr (Words::has_low)
      return high[position];
    else
      return static_cast<Bits>(high[position] >> 16);
  }
  SLICESORT_HD std::uint32_t row(int position) const {
    if constexpr (Words::has_low)
      return low[position];
    else
      return high[position] & 0xffffu;
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
