// SPDX-License-Identifier: Apache-2.0
// Total order of values by integer keys: -0 equals +0, and all NaNs are equal and come last.
// Compares bits, so compiler flags cannot change the order.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>

SLICESORT_DETAIL_BEGIN

template <class Bits>
inline constexpr Bits sign_bit = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));

// Returns all ones if the sign bit is set, else zero. Branchless, because branches on random signs
// would be mispredicted.
template <class Bits>
SLICESORT_HD constexpr Bits sign_mask(Bits bits) {
  return static_cast<Bits>(Bits{0} - static_cast<Bits>(bits >> (8 * sizeof(Bits) - 1)));
}

// Encodes a value as a key that compares as an unsigned integer. NaN has the largest key. The
// smallest key is unused.
template <class T>
SLICESORT_HD constexpr bits_t<T> sortable_key(bits_t<T> bits) {
  using Bits = bits_t<T>;
  Bits const magnitude = static_cast<Bits>(bits & static_cast<Bits>(~sign_bit<Bits>));
  auto const key = static_cast<Bits>(bits ^ (sign_mask(bits) | sign_bit<Bits>));
  Bits const unsigned_zero_key = magnitude == 0 ? sign_bit<Bits> : key;
  return magnitude > dtype_traits<T>::infinity ? static_cast<Bits>(~Bits{0}) : unsigned_zero_key;
}

// Decodes the bits of a value from its key. All zeros decode to the same zero, and all NaNs to the
// same NaN.
template <class Bits>
SLICESORT_HD constexpr Bits unsortable_bits(Bits key) {
  return static_cast<Bits>(key ^ (static_cast<Bits>(~sign_mask(key)) | sign_bit<Bits>));
}

// Key of a value in a column. Descending columns sort complemented keys in ascending order, so ties
// keep their order and NaN comes first.
template <class T>
SLICESORT_HD constexpr bits_t<T> column_key(bits_t<T> bits, bool ascending) {
  bits_t<T> const key = sortable_key<T>(bits);
  return ascending ? key : static_cast<bits_t<T>>(~key);
}
template <class T>
SLICESORT_HD inline bits_t<T> ordered_key(T value, bool ascending) {
  return column_key<T>(bit_cast<bits_t<T>>(value), ascending);
}

SLICESORT_DETAIL_END
