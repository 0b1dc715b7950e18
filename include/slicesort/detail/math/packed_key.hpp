// SPDX-License-Identifier: Apache-2.0
// Packed keys: a key and its row in one integer, double or struct. Rows break ties, which makes any
// sorting network stable.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Element type for unsigned 32-bit integers, which are their own keys. Lets the sorting kernels
// sort integers.
struct raw_key32 {
  std::uint32_t bits;
};

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

template <>
struct dtype_traits<detail::raw_key32> {
  using bits = std::uint32_t;
  using accumulator = std::uint32_t;
  static constexpr bits infinity = 0xffffffffu;
  static constexpr char const* name = "raw32";
};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <>
SLICESORT_HD constexpr std::uint32_t sortable_key<raw_key32>(std::uint32_t bits) {
  return bits;
}

template <class T>
SLICESORT_HD constexpr bits_t<T> column_value(bits_t<T> key, bool ascending) {
  bits_t<T> const ascending_key = ascending ? key : static_cast<bits_t<T>>(~key);
  if constexpr (std::is_same_v<T, raw_key32>)
    return ascending_key;
  else
    return unsortable_bits(ascending_key);
}
// True if some keys of T do not determine their value.
template <class T>
inline constexpr bool has_lossy_keys = !std::is_same_v<T, raw_key32>;
// True if the key of `value` does not determine it: zeros lose their sign, NaNs lose sign and
// payload. Avoids short-circuit operators, because a branch costs more than a comparison on a GPU.
template <class T>
SLICESORT_HD constexpr bool key_loses(bits_t<T> value) {
  if constexpr (!has_lossy_keys<T>) return false;
  using Bits = bits_t<T>;
  Bits const magnitude = static_cast<Bits>(value & static_cast<Bits>(~sign_bit<Bits>));
  // One comparison tests for both zero and NaN, because 0 - 1 wraps to the largest integer.
  return static_cast<Bits>(magnitude - 1) >= dtype_traits<T>::infinity;
}
// True if decoding the key may return a different value. Zeros decode to +0.
template <class T>
SLICESORT_HD constexpr bool key_alters(bits_t<T> value) {
  return key_loses<T>(value) & (value != 0);
}

// Packed keys of elements T, as static functions:
//   type                          a key with its row
//   make(bits, ascending, row)    packs a value and its row < 65536
//   value(key, ascending)         the bits of the value; zeros and NaNs may change sign and payload
//   row(key)                      the row
//   last()                        a key that sorts after all others
//   before(a, b)                  true if a sorts before b
// In memory, a packed key consists of `high` and, if `high` is too narrow, 16 more bits in `low`.
// With `InDouble`, a 32-bit key and its row are packed into a double and compared as a double.
template <class T, bool InDouble, class = void>
struct packed_key;

// 32-bit integer with a 16-bit key in the high half and the row in the low half.
template <class T, bool InDouble>
struct packed_key<T, InDouble, std::enable_if_t<sizeof(bits_t<T>) == 2>> {
  using type = std::uint32_t;
  using high_type = std::uint32_t;
  static constexpr bool has_low = false;

  static SLICESORT_HD type make(std::uint16_t value, bool ascending, std::uint32_t row) {
    return static_cast<std::uint32_t>(column_key<T>(value, ascending)) << 16 | row;
  }
  static SLICESORT_HD std::uint16_t value(type packed, bool ascending) {
    return column_value<T>(static_cast<std::uint16_t>(packed >> 16), ascending);
  }
  static SLICESORT_HD std::uint32_t row(type packed) { return packed & 0xffffu; }
  static SLICESORT_HD type last() { return ~std::uint32_t{0}; }
  static SLICESORT_HD bool before(type a, type b) { return a < b; }

  static SLICESORT_HD high_type high(type packed) { return packed; }
  static SLICESORT_HD std::uint16_t low(type) { return 0; }
  static SLICESORT_HD type join(high_type high, std::uint16_t) { return high; }
};

// 64-bit integer with a 32-bit key in the high half and the row in the low half.
template <class T, bool InDouble>
struct packed_key<
    T, InDouble,
    std::enable_if_t<sizeof(bits_t<T>) == 4 && !(InDouble && !std::is_same_v<T, raw_key32>)>> {
  using type = std::uint64_t;
  using high_type = std::uint32_t;
  static constexpr bool has_low = true;

  static SLICESORT_HD type make(std::uint32_t value, bool ascending, std::uint32_t row) {
    return static_cast<std::uint64_t>(column_key<T>(value, ascending)) << 32 | row;
  }
  static SLICESORT_HD std::uint32_t value(type packed, bool ascending) {
    return column_value<T>(high(packed), ascending);
  }
  static SLICESORT_HD std::uint32_t row(type packed) { return static_cast<std::uint32_t>(packed); }
  static SLICESORT_HD type last() { return ~std::uint64_t{0}; }
  static SLICESORT_HD bool before(type a, type b) { return a < b; }

  static SLICESORT_HD high_type high(type packed) {
    return static_cast<std::uint32_t>(packed >> 32);
  }
  static SLICESORT_HD std::uint16_t low(type packed) { return static_cast<std::uint16_t>(packed); }
  static SLICESORT_HD type join(high_type high, std::uint16_t low) {
    return static_cast<std::uint64_t>(high) << 32 | low;
  }
};

// Double that packs a 32-bit key and its row, so one instruction compares them. The float is the
// upper half and the row the lower half. The row is complemented for negative values, because
// larger magnitudes sort first. The exponents of such doubles are never those of denormals,
// infinities or NaNs, which compiler flags may change.
template <class T, bool InDouble>
struct packed_key<
    T, InDouble,
    std::enable_if_t<sizeof(bits_t<T>) == 4 && InDouble && !std::is_same_v<T, raw_key32>>> {
  using type = double;
  using high_type = std::uint32_t;
  static constexpr bool has_low = true;

  static SLICESORT_HD type make(std::uint32_t value, bool ascending, std::uint32_t row) {
    std::uint32_t const magnitude = value & 0x7fffffffu;
    // NaNs and zeros lose their sign.
    std::uint32_t const sign = key_loses<T>(value) ? 0u : value & 0x80000000u;
    std::uint32_t const ordered_sign = sign ^ (ascending ? 0u : 0x80000000u);
    return join(
        ordered_sign | ((magnitude < nan_magnitude ? magnitude : nan_magnitude) + exponent_one),
        static_cast<std::uint16_t>(ordered_sign ? ~row : row));
  }
  static SLICESORT_HD std::uint32_t value(type packed, bool ascending) {
    return ((high(packed) & 0x7fffffffu) - exponent_one) |
           ((high(packed) ^ (ascending ? 0u : 0x80000000u)) & 0x80000000u);
  }
  static SLICESORT_HD std::uint32_t row(type packed) {
    return (high(packed) & 0x80000000u ? ~low_word(packed) : low_word(packed)) & 0xffffu;
  }
  static SLICESORT_HD type last() { return join(0x7fe00000u, 0); }
  static SLICESORT_HD bool before(type a, type b) { return a < b; }

  static SLICESORT_HD high_type high(type packed) {
    return static_cast<std::uint32_t>(bit_cast<std::uint64_t>(packed) >> 32);
  }
  static SLICESORT_HD std::uint16_t low(type packed) {
    return static_cast<std::uint16_t>(low_word(packed));
  }
  static SLICESORT_HD type join(high_type high, std::uint16_t low) {
    return bit_cast<double>(static_cast<std::uint64_t>(high) << 32 | low);
  }

 private:
  static constexpr std::uint32_t exponent_one = 0x00100000u;  // 1 in the exponent of a double
  static constexpr std::uint32_t nan_magnitude = dtype_traits<T>::infinity + 1;  // of all NaNs

  static SLICESORT_HD std::uint32_t low_word(type packed) {
    return static_cast<std::uint32_t>(bit_cast<std::uint64_t>(packed));
  }
};

// Struct of a 64-bit key and its row.
template <class T, bool InDouble>
struct packed_key<T, InDouble, std::enable_if_t<sizeof(bits_t<T>) == 8>> {
  struct type {
    std::uint64_t key;
    std::uint32_t row;
  };
  using high_type = std::uint64_t;
  static constexpr bool has_low = true;

  static SLICESORT_HD type make(std::uint64_t value, bool ascending, std::uint32_t row) {
    return {column_key<T>(value, ascending), row};
  }
  static SLICESORT_HD std::uint64_t value(type packed, bool ascending) {
    return column_value<T>(packed.key, ascending);
  }
  static SLICESORT_HD std::uint32_t row(type packed) { return packed.row; }
  static SLICESORT_HD type last() { return {~std::uint64_t{0}, ~std::uint32_t{0}}; }
  static SLICESORT_HD bool before(type a, type b) {
    return a.key < b.key || (a.key == b.key && a.row < b.row);
  }

  static SLICESORT_HD high_type high(type packed) { return packed.key; }
  static SLICESORT_HD std::uint16_t low(type packed) {
    return static_cast<std::uint16_t>(packed.row);
  }
  static SLICESORT_HD type join(high_type high, std::uint16_t low) { return {high, low}; }
};

// Orders two packed keys. Those of 32 bits use the block's compare_exchange. Wider ones use
// selections, which the compiler distributes over two pipelines.
template <class Block, class Keys>
struct comparator {
  using key = typename Keys::type;

  static SLICESORT_HD_INLINE void compare_exchange(key& a, key& b) {
    if constexpr (std::is_same_v<key, std::uint32_t>) {
      Block::compare_exchange(a, b);
    } else {
      bool const swap = Keys::before(b, a);
      key const smaller = swap ? b : a, larger = swap ? a : b;
      a = smaller;
      b = larger;
    }
  }
};

SLICESORT_DETAIL_END
