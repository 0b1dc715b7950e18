// SPDX-License-Identifier: Apache-2.0
// Shared-memory representation of sparse_mix elements. Each value is read several times, so
// widening must be cheap. Two bfloat16 values share a 32-bit cell; a shift or a mask extracts one
// of them. A float16 is stored as a float.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class T>
struct mix_cell {
  using A = accumulator_t<T>;
  static constexpr bool packs_pairs = sizeof(T) == 2 && dtype_traits<T>::infinity == 0x7f80u;
  static constexpr int channels = packs_pairs ? 2 : 1;
  using type = std::conditional_t<packs_pairs, std::uint32_t, A>;

  // Packs the values of `channels` neighboring channels.
  static SLICESORT_HD_INLINE type pack(T const (&values)[static_cast<std::size_t>(channels)]) {
    if constexpr (packs_pairs)
      return bit_cast<std::uint16_t>(values[0]) |
             static_cast<std::uint32_t>(bit_cast<std::uint16_t>(values[1])) << 16;
    else
      return static_cast<A>(values[0]);
  }
  static SLICESORT_HD_INLINE A value(type cell, int channel) {
    if constexpr (packs_pairs)
      return bit_cast<float>(channel == 0 ? cell << 16 : cell & 0xffff0000u);
    else
      return (void)channel, cell;
  }
};

// Number of cells in a mix_vector.
template <class T, int Channels>
inline constexpr int cells_per_vector =
    Channels / mix_cell<T>::channels < 16 / static_cast<int>(sizeof(typename mix_cell<T>::type))
        ? Channels / mix_cell<T>::channels
        : 16 / static_cast<int>(sizeof(typename mix_cell<T>::type));
// Neighboring channels of a row that one load reads, up to 16 bytes.
template <class T, int Channels>
struct alignas(cells_per_vector<T, Channels> * sizeof(typename mix_cell<T>::type)) mix_vector {
  using cell = mix_cell<T>;
  using A = typename cell::A;
  static constexpr int cells = cells_per_vector<T, Channels>;
  static constexpr int channels = cells * cell::channels;

  typename cell::type value[static_cast<std::size_t>(cells)];

  SLICESORT_HD_INLINE A value_at(int channel) const {
    return cell::value(value[channel / cell::channels], channel % cell::channels);
  }
};

SLICESORT_DETAIL_END
