// SPDX-License-Identifier: Apache-2.0
// Unrolled loops over the rows that a thread holds in registers.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Rows that a thread has in flight. Without the branch between such groups the compiler would keep
// the addresses of all rows in registers.
template <int Rows>
inline constexpr int register_group = Rows < 16 ? Rows : 16;

template <int Rows, class F>
SLICESORT_HD_INLINE void for_register_rows(int length, F const& f) {
  SLICESORT_UNROLL
  for (int first = 0; first < Rows; first += register_group<Rows>) {
    int const end = first + register_group<Rows>;
    if (end <= length) {
      SLICESORT_UNROLL
      for (int i = first; i < end; ++i) f(i);
    } else if (first < length) {
      SLICESORT_UNROLL
      for (int i = first; i < end; ++i)
        if (i < length) f(i);
    }
  }
}
// Sets value[k] to the bits of row first + k, or to 0 past the end.
template <class Bits, std::size_t Count, class Load>
SLICESORT_HD_INLINE void read_register_rows(int first, int length, Bits (&value)[Count],
                                            Load const& load) {
  SLICESORT_UNROLL
  for (int k = 0; k < static_cast<int>(Count); ++k)
    value[k] = first + k < length ? bit_cast<Bits>(load(first + k)) : Bits{0};
}
// Stores value(0), value(1), .. to target[0], target[stride], ..
template <int Rows, class Element, class Value>
SLICESORT_HD_INLINE void store_register_rows(Element* target, index_t stride, int length,
                                             Value const& value) {
  for_register_rows<Rows>(length,
                          [&](int i) { target[i * stride] = static_cast<Element>(value(i)); });
}

SLICESORT_DETAIL_END
