// SPDX-License-Identifier: Apache-2.0
// A tile of packed keys in shared memory, [rows, width]: the columns of a row are adjacent.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/grid.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// Neighboring threads read rows that are a multiple of 2^Levels rows apart. One free row after
// every 2^Levels rows keeps them out of each other's memory banks.
template <int Levels>
SLICESORT_HD constexpr int padded_row(int row) {
  return row + (row >> Levels);
}

template <class Keys, int Levels>
struct key_tile {
  using keys = Keys;
  using key = typename Keys::type;
  using high_type = typename Keys::high_type;

  high_type* high;
  std::uint16_t* low;
  int width;

  template <class SharedAllocator>
  static SLICESORT_HD key_tile allocate(SharedAllocator& shared_memory, int rows, int width) {
    auto const count =
        static_cast<std::size_t>(padded_row<Levels>(rows)) * static_cast<std::size_t>(width);
    key_tile t{shared_memory.template allocate<high_type>(count), nullptr, width};
    if constexpr (Keys::has_low) t.low = shared_memory.template allocate<std::uint16_t>(count);
    return t;
  }

  SLICESORT_HD int position(int row, int column) const {
    return padded_row<Levels>(row) * width + column;
  }
  SLICESORT_HD_INLINE key load(int position) const {
    if constexpr (Keys::has_low)
      return Keys::join(high[position], low[position]);
    else
      return Keys::join(high[position], 0);
  }
  SLICESORT_HD_INLINE void store(int position, key w) const {
    high[position] = Keys::high(w);
    if constexpr (Keys::has_low) low[position] = Keys::low(w);
  }

  // After the network: a position holds the bits of a value and its row in place of a packed key.
  template <class Bits>
  SLICESORT_HD void store_value(int position, Bits value, std::uint32_t row) const {
    if constexpr (Keys::has_low) {
      high[position] = value;
      low[position] = static_cast<std::uint16_t>(row);
    } else {
      high[position] = static_cast<high_type>(value) << 16 | row;
    }
  }
  template <class Bits>
  SLICESORT_HD Bits value(int position) const {
    if constexpr (Keys::has_low)
      return high[position];
    else
      return static_cast<Bits>(high[position] >> 16);
  }
  SLICESORT_HD std::uint32_t row(int position) const {
    if constexpr (Keys::has_low)
      return low[position];
    else
      return high[position] & 0xffffu;
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
