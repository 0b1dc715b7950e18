// SPDX-License-Identifier: Apache-2.0
/// Shapes and strides: `extents3` and `strides3` of `[batch, length, channels]`, `extents4` and
/// `strides4` of attention's `[batch, heads, length, channels]`, `stack_extents` and
/// `stack_strides` of a stack of tensors, `[outer, batch, length, channels]`.
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

// Converts to index_t. A value that does not fit saturates, so every operator rejects it as too
// large. A plain cast would make it negative.
template <class Integer>
SLICESORT_HD constexpr index_t to_index(Integer value) {
  constexpr index_t max_index = INT64_MAX;  // numeric_limits has no device functions
  if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) == sizeof(index_t))
    return value > static_cast<std::uint64_t>(max_index) ? max_index : static_cast<index_t>(value);
  else
    return static_cast<index_t>(value);
}

// The product modulo 2^64. It wraps, because shapes are multiplied before they are checked.
SLICESORT_HD constexpr index_t product(index_t a, index_t b) {
  return static_cast<index_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// Tag of per-axis values that are extents.
struct extents_kind {};
/// Tag of per-axis values that are strides, in elements.
struct strides_kind {};

/// One value per axis of `[batch, length, channels]`; converts from integers of any type.
template <class Kind>
struct axes3 {
  index_t batch = 0, length = 0, channels = 0;

  SLICESORT_ABI_TAG axes3() = default;
  template <class B, class L, class C, class = detail::require_integers<B, L, C>>
  SLICESORT_HD_ABI_TAG constexpr axes3(B b, L l, C c)
      : batch(detail::to_index(b)), length(detail::to_index(l)), channels(detail::to_index(c)) {}

  friend SLICESORT_HD_ABI_TAG constexpr bool operator==(axes3 a, axes3 b) {
    return a.batch == b.batch && a.length == b.length && a.channels == b.channels;
  }
  friend SLICESORT_HD_ABI_TAG constexpr bool operator!=(axes3 a, axes3 b) { return !(a == b); }

  /// Number of elements, modulo 2^64; operators check that it fits.
  SLICESORT_HD_ABI_TAG constexpr index_t size() const {
    static_assert(std::is_same_v<Kind, extents_kind>, "strides have no size");
    return detail::product(detail::product(batch, length), channels);
  }
  SLICESORT_HD_ABI_TAG constexpr bool empty() const {
    return batch == 0 || length == 0 || channels == 0;
  }
};

/// One value per axis of `[batch, heads, length, channels]`.
template <class Kind>
struct axes4 {
  index_t batch = 0, heads = 0, length = 0, channels = 0;

  SLICESORT_ABI_TAG axes4() = default;
  template <class B, class H, class L, class C, class = detail::require_integers<B, H, L, C>>
  SLICESORT_HD_ABI_TAG constexpr axes4(B b, H h, L l, C c)
      : batch(detail::to_index(b)),
        heads(detail::to_index(h)),
        length(detail::to_index(l)),
        channels(detail::to_index(c)) {}

  friend SLICESORT_HD_ABI_TAG constexpr bool operator==(axes4 a, axes4 b) {
    return a.batch == b.batch && a.sample() == b.sample();
  }
  friend SLICESORT_HD_ABI_TAG constexpr bool operator!=(axes4 a, axes4 b) { return !(a == b); }

  /// Values of one sample, with its heads as the batch axis.
  SLICESORT_HD_ABI_TAG constexpr axes3<Kind> sample() const { return {heads, length, channels}; }
  SLICESORT_HD_ABI_TAG constexpr index_t size() const {
    return detail::product(batch, sample().size());
  }
  SLICESORT_HD_ABI_TAG constexpr bool empty() const { return batch == 0 || sample().empty(); }
};

/// One value per axis of `[outer, batch, length, channels]`.
template <class Kind>
struct stack_axes {
  index_t outer = 0, batch = 0, length = 0, channels = 0;

  SLICESORT_ABI_TAG stack_axes() = default;
  template <class O, class B, class L, class C, class = detail::require_integers<O, B, L, C>>
  SLICESORT_HD_ABI_TAG constexpr stack_axes(O o, B b, L l, C c)
      : outer(detail::to_index(o)),
        batch(detail::to_index(b)),
        length(detail::to_index(l)),
        channels(detail::to_index(c)) {}

  friend SLICESORT_HD_ABI_TAG constexpr bool operator==(stack_axes a, stack_axes b) {
    return a.outer == b.outer && a.tensor() == b.tensor();
  }
  friend SLICESORT_HD_ABI_TAG constexpr bool operator!=(stack_axes a, stack_axes b) {
    return !(a == b);
  }

  /// Values of one tensor of the stack.
  SLICESORT_HD_ABI_TAG constexpr axes3<Kind> tensor() const { return {batch, length, channels}; }
  SLICESORT_HD_ABI_TAG constexpr index_t size() const {
    return detail::product(outer, tensor().size());
  }
  SLICESORT_HD_ABI_TAG constexpr bool empty() const { return outer == 0 || tensor().empty(); }
};

/// Shape of `tensor3`, `[batch, length, channels]`.
using extents3 = axes3<extents_kind>;
/// Strides of `tensor3`, in elements.
using strides3 = axes3<strides_kind>;
/// Shape of `tensor4`, `[batch, heads, length, channels]`.
using extents4 = axes4<extents_kind>;
/// Strides of `tensor4`, in elements.
using strides4 = axes4<strides_kind>;
/// Shape of `tensor_stack`, `[outer, batch, length, channels]`, such as that of the weights of a
/// chain's factors.
using stack_extents = stack_axes<extents_kind>;
/// Strides of `tensor_stack`, in elements.
using stack_strides = stack_axes<strides_kind>;

/// Strides of a contiguous tensor, channels fastest.
SLICESORT_HD_ABI_TAG constexpr strides3 row_major(extents3 e) {
  return {detail::product(e.length, e.channels), e.channels, 1};
}
SLICESORT_HD_ABI_TAG constexpr strides4 row_major(extents4 e) {
  strides3 const s = row_major(e.sample());
  return {e.sample().size(), s.batch, s.length, s.channels};
}
SLICESORT_HD_ABI_TAG constexpr stack_strides row_major(stack_extents e) {
  strides3 const s = row_major(e.tensor());
  return {e.tensor().size(), s.batch, s.length, s.channels};
}

SLICESORT_TYPES_END
