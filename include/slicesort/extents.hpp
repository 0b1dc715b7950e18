// SPDX-License-Identifier: Apache-2.0
/// Shapes and strides: `extents3` and `strides3` of `[batch, length, channels]`, `extents4` and
/// `strides4` of a stack of those.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_TYPES_BEGIN

/// Signed 64-bit: extents, strides, offsets, lengths.
using index_t = std::int64_t;

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <class... Integer>
using require_integers =
    std::enable_if_t<((std::is_integral_v<Integer> && sizeof(Integer) <= sizeof(index_t)) && ...)>;

// What index_t cannot hold becomes its largest value, which every operator refuses as too large; it
// would be negative if it were cast.
template <class Integer>
SLICESORT_HD constexpr index_t to_index(Integer value) {
  constexpr index_t largest = INT64_MAX;  // numeric_limits is not for device code
  if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) == sizeof(index_t))
    return value > static_cast<std::uint64_t>(largest) ? largest : static_cast<index_t>(value);
  else
    return static_cast<index_t>(value);
}

// The product modulo 2^64: a shape may be asked for it before its check has refused it.
SLICESORT_HD constexpr index_t product(index_t a, index_t b) {
  return static_cast<index_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// The shape `[batch, length, channels]`. Integers of any type make one.
struct extents3 {
  index_t batch = 0, length = 0, channels = 0;

  SLICESORT_ABI_TAG extents3() = default;
  template <class B, class L, class C, class = detail::require_integers<B, L, C>>
  SLICESORT_HD_ABI_TAG constexpr extents3(B b, L l, C c)
      : batch(detail::to_index(b)), length(detail::to_index(l)), channels(detail::to_index(c)) {}

  friend SLICESORT_HD_ABI_TAG constexpr bool operator==(extents3 a, extents3 b) {
    return a.batch == b.batch && a.length == b.length && a.channels == b.channels;
  }
  friend SLICESORT_HD_ABI_TAG constexpr bool operator!=(extents3 a, extents3 b) {
    return !(a == b);
  }
  /// `batch * length * channels` in 64 bits. Operators check that it fits.
  SLICESORT_HD_ABI_TAG constexpr index_t size() const {
    return detail::product(detail::product(batch, length), channels);
  }
  SLICESORT_HD_ABI_TAG constexpr bool empty() const {
    return batch == 0 || length == 0 || channels == 0;
  }
};

/// Distance in elements between neighbors along each axis. Integers of any type make one.
struct strides3 {
  index_t batch = 0, length = 0, channels = 0;

  SLICESORT_ABI_TAG strides3() = default;
  template <class B, class L, class C, class = detail::require_integers<B, L, C>>
  SLICESORT_HD_ABI_TAG constexpr strides3(B b, L l, C c)
      : batch(detail::to_index(b)), length(detail::to_index(l)), channels(detail::to_index(c)) {}

  friend SLICESORT_HD_ABI_TAG constexpr bool operator==(strides3 a, strides3 b) {
    return a.batch == b.batch && a.length == b.length && a.channels == b.channels;
  }
  friend SLICESORT_HD_ABI_TAG constexpr bool operator!=(strides3 a, strides3 b) {
    return !(a == b);
  }
};

/// Strides of a contiguous `[batch, length, channels]` tensor, channels fastest.
SLICESORT_HD_ABI_TAG constexpr strides3 row_major(extents3 e) {
  return {detail::product(e.length, e.channels), e.channels, 1};
}

/// The shape `[outer, batch, length, channels]`: `outer` tensors of one shape. The operator says
/// what the axes mean (for attention, `[batch, heads, length, channels]`).
struct extents4 {
  index_t outer = 0, batch = 0, length = 0, channels = 0;

  SLICESORT_ABI_TAG extents4() = default;
  template <class O, class B, class L, class C, class = detail::require_integers<O, B, L, C>>
  SLICESORT_HD_ABI_TAG constexpr extents4(O o, B b, L l, C c)
      : outer(detail::to_index(o)),
        batch(detail::to_index(b)),
        length(detail::to_index(l)),
        channels(detail::to_index(c)) {}

  friend SLICESORT_HD_ABI_TAG constexpr bool operator==(extents4 a, extents4 b) {
    return a.outer == b.outer && a.each() == b.each();
  }
  friend SLICESORT_HD_ABI_TAG constexpr bool operator!=(extents4 a, extents4 b) {
    return !(a == b);
  }

  /// The shape of one tensor of the stack.
  SLICESORT_HD_ABI_TAG constexpr extents3 each() const { return {batch, length, channels}; }
  SLICESORT_HD_ABI_TAG constexpr index_t size() const {
    return detail::product(outer, each().size());
  }
  SLICESORT_HD_ABI_TAG constexpr bool empty() const { return outer == 0 || each().empty(); }
};

/// Distance in elements between neighbors along each axis. Integers of any type make one.
struct strides4 {
  index_t outer = 0, batch = 0, length = 0, channels = 0;

  SLICESORT_ABI_TAG strides4() = default;
  template <class O, class B, class L, class C, class = detail::require_integers<O, B, L, C>>
  SLICESORT_HD_ABI_TAG constexpr strides4(O o, B b, L l, C c)
      : outer(detail::to_index(o)),
        batch(detail::to_index(b)),
        length(detail::to_index(l)),
        channels(detail::to_index(c)) {}

  friend SLICESORT_HD_ABI_TAG constexpr bool operator==(strides4 a, strides4 b) {
    return a.outer == b.outer && a.each() == b.each();
  }
  friend SLICESORT_HD_ABI_TAG constexpr bool operator!=(strides4 a, strides4 b) {
    return !(a == b);
  }

  SLICESORT_HD_ABI_TAG constexpr strides3 each() const { return {batch, length, channels}; }
};

/// Strides of a contiguous `[outer, batch, length, channels]` tensor, channels fastest.
SLICESORT_HD_ABI_TAG constexpr strides4 row_major(extents4 e) {
  strides3 const s = row_major(e.each());
  return {e.each().size(), s.batch, s.length, s.channels};
}

SLICESORT_TYPES_END
