// SPDX-License-Identifier: Apache-2.0
/// Saved state, which `forward` writes for `backward`. The caller owns it. An index view accepts a
/// `tensor3` (or mdspan of rank 3) of 8-bit, 16-bit or 32-bit integers; `no_saved` selects
/// inference.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_TYPES_BEGIN

#define SLICESORT_NEEDS_INDEX                                                                      \
  "slicesort: the saved state must be a view of std::uint16_t, std::int32_t or std::uint32_t (of " \
  "csp also std::uint8_t), not const where it is written."

/// Type of `no_saved`.
struct no_saved_t {
  SLICESORT_ABI_TAG explicit no_saved_t() = default;
};
/// Replaces the saved state if no backward call follows.
inline constexpr no_saved_t no_saved{};

/// Width of one saved index. 16 bits are enough for lengths up to 65536. Operators that save rows
/// of groups use 8 bits for groups of up to 256 rows.
enum class index_width { bits8 = 1, bits16 = 2, bits32 = 4 };

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <class Index>
inline constexpr bool is_saved_index =
    std::is_same_v<Index, std::uint8_t> || std::is_same_v<Index, std::uint16_t> ||
    std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::uint32_t>;

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// A `[batch, length, channels]` view of indices whose width is known at run time: `std::uint8_t`,
/// `std::uint16_t`, `std::int32_t` or `std::uint32_t`.
template <bool Const>
class basic_index_tensor3 {
 public:
  using pointer = std::conditional_t<Const, void const*, void*>;

  SLICESORT_ABI_TAG basic_index_tensor3() = default;
  template <class Index, std::enable_if_t<detail::is_saved_index<std::remove_const_t<Index>> &&
                                              (Const || !std::is_const_v<Index>),
                                          int> = 0>
  SLICESORT_ABI_TAG constexpr basic_index_tensor3(tensor3<Index> view)
      : data_(view.data()),
        extents_(view.extents()),
        strides_(view.strides()),
        width_(static_cast<index_width>(sizeof(Index))) {}
  template <class M, std::enable_if_t<detail::is_mdspan_of_rank<M, 3>, int> = 0>
  SLICESORT_ABI_TAG constexpr basic_index_tensor3(M const& m)
      : basic_index_tensor3(tensor3<detail::mdspan_element<M>>(m)) {}
  template <bool Other, std::enable_if_t<Const && !Other, int> = 0>
  SLICESORT_ABI_TAG constexpr basic_index_tensor3(basic_index_tensor3<Other> other)
      : data_(other.data()),
        extents_(other.extents()),
        strides_(other.strides()),
        width_(other.width()) {}

  SLICESORT_ABI_TAG constexpr pointer data() const { return data_; }
  SLICESORT_ABI_TAG constexpr extents3 extents() const { return extents_; }
  SLICESORT_ABI_TAG constexpr strides3 strides() const { return strides_; }
  SLICESORT_ABI_TAG constexpr index_width width() const { return width_; }

 private:
  pointer data_ = nullptr;
  extents3 extents_;
  strides3 strides_;
  index_width width_ = index_width::bits32;
};

/// Indices `[batch, length, channels]` that a call writes, of any index type.
using index_tensor3 = basic_index_tensor3<false>;
/// Indices `[batch, length, channels]` that a call reads, of any index type.
using const_index_tensor3 = basic_index_tensor3<true>;

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// True if S is not a state for View but was probably meant as one.
template <class View, class S>
inline constexpr bool is_wrong_state = false;
template <bool Const, class Index>
inline constexpr bool is_wrong_state<basic_index_tensor3<Const>, tensor3<Index>> =
    std::is_integral_v<Index> && !std::is_convertible_v<tensor3<Index>, basic_index_tensor3<Const>>;

template <class View, class S>
using if_state = std::enable_if_t<std::is_convertible_v<S const&, View>, int>;
template <class View, class S>
using if_wrong_state = std::enable_if_t<is_wrong_state<View, S>, int>;

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// State argument of `forward`: an output view, with or without braces, or `no_saved`. `saving`
/// tells them apart, because the view of an empty tensor may also have a null pointer.
template <class View>
struct saved_argument {
  View view;
  bool saving = true;

  template <class S, detail::if_state<View, S> = 0>
  SLICESORT_ABI_TAG constexpr saved_argument(S const& output) : view(output) {}
  SLICESORT_ABI_TAG constexpr saved_argument(no_saved_t) : view(), saving(false) {}
  template <class Other, std::enable_if_t<std::is_convertible_v<Other, View>, int> = 0>
  SLICESORT_ABI_TAG constexpr saved_argument(saved_argument<Other> other)
      : view(other.view), saving(other.saving) {}
  template <class S, detail::if_wrong_state<View, S> = 0>
  SLICESORT_REFUSED_CONSTRUCTOR(saved_argument, S, SLICESORT_NEEDS_INDEX);
};

/// State argument of `backward`.
template <class View>
struct const_saved_argument {
  View view;

  template <class S, detail::if_state<View, S> = 0>
  SLICESORT_ABI_TAG constexpr const_saved_argument(S const& state) : view(state) {}
  template <class Other, std::enable_if_t<std::is_convertible_v<Other, View>, int> = 0>
  SLICESORT_ABI_TAG constexpr const_saved_argument(saved_argument<Other> saved)
      : view(saved.view) {}
  template <class S, detail::if_wrong_state<View, S> = 0>
  SLICESORT_REFUSED_CONSTRUCTOR(const_saved_argument, S, SLICESORT_NEEDS_INDEX);
};

/// State of a sort. `perm[b, n, c]` is the row of the input that became row `n` of the output.
/// 16-bit (`std::uint16_t`, length <= 65536) or 32-bit (`std::int32_t`, `std::uint32_t`).
/// `no_saved` skips it.
using saved_permutation = saved_argument<index_tensor3>;

/// State of a sort as `backward` reads it: `[batch, length, channels]`, of the types of
/// `saved_permutation`.
using const_saved_permutation = const_saved_argument<const_index_tensor3>;

SLICESORT_TYPES_END
