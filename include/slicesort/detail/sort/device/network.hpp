// SPDX-License-Identifier: Apache-2.0
// Sorting networks over keys[0 .. Rows), the packed keys of one thread, with the comparator of
// math/packed_key.hpp, and loops over a thread's rows. All loops are unrolled, because an array
// with run-time indices would be placed in local memory.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Batcher's odd-even merge of every Step-th element of keys[Low .. High], ends included. Requires
// sorted halves.
template <class Comparator, int Low, int High, int Step, class Key>
SLICESORT_HD_INLINE void odd_even_merge(Key* keys) {
  if constexpr (2 * Step < High - Low) {
    odd_even_merge<Comparator, Low, High, 2 * Step>(keys);
    odd_even_merge<Comparator, Low + Step, High, 2 * Step>(keys);
    SLICESORT_UNROLL
    for (int i = Low + Step; i < High - Step; i += 2 * Step)
      Comparator::compare_exchange(keys[i], keys[i + Step]);
  } else {
    Comparator::compare_exchange(keys[Low], keys[Low + Step]);
  }
}
// Batcher's odd-even merge sort of keys[Low .. High], ends included. The number of elements is a
// power of two.
template <class Comparator, int Low, int High, class Key>
SLICESORT_HD_INLINE void odd_even_sort(Key* keys) {
  if constexpr (Low < High) {
    constexpr int middle = Low + (High - Low) / 2;
    odd_even_sort<Comparator, Low, middle>(keys);
    odd_even_sort<Comparator, middle + 1, High>(keys);
    odd_even_merge<Comparator, Low, High, 1>(keys);
  }
}
template <class Comparator, int Rows, class Key>
SLICESORT_HD_INLINE void sort_keys(Key* keys) {
  odd_even_sort<Comparator, 0, Rows - 1>(keys);
}

// Half-cleaners of a bitonic merge at distances Distance, Distance / 2, ..., 1.
template <class Comparator, int Rows, int Distance, class Key>
SLICESORT_HD_INLINE void half_clean(Key* keys) {
  if constexpr (Distance >= 1) {
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i)
      if ((i & Distance) == 0) Comparator::compare_exchange(keys[i], keys[i + Distance]);
    half_clean<Comparator, Rows, Distance / 2>(keys);
  }
}

// Rows that a thread has in flight. The branch after each group of such rows keeps the compiler
// from holding the addresses of all rows in registers.
template <int Rows>
inline constexpr int rows_in_flight = Rows < 16 ? Rows : 16;

template <int Rows, class F>
SLICESORT_HD_INLINE void for_register_rows(int length, F const& f) {
  SLICESORT_UNROLL
  for (int first = 0; first < Rows; first += rows_in_flight<Rows>) {
    int const end = first + rows_in_flight<Rows>;
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
SLICESORT_HD_INLINE void load_register_rows(int first, int length, Bits (&value)[Count],
                                            Load const& load) {
  SLICESORT_UNROLL
  for (int k = 0; k < static_cast<int>(Count); ++k)
    value[k] = first + k < length ? bit_cast<Bits>(load(first + k)) : Bits{0};
}
// Stores value(0), value(1), ... to target[0], target[stride], ...
template <int Rows, class Element, class Value>
SLICESORT_HD_INLINE void store_register_rows(Element* target, index_t stride, int length,
                                             Value const& value) {
  for_register_rows<Rows>(length,
                          [&](int i) { target[i * stride] = static_cast<Element>(value(i)); });
}

SLICESORT_DETAIL_END
