// SPDX-License-Identifier: Apache-2.0
/// Non-owning strided views: `tensor1<T>`, `tensor3<T>` = `[batch, length, channels]`, and
/// `tensor4<T>`, a stack of those = `[outer, batch, length, channels]`. Trivially copyable, passed
/// by value, never dereferenced by the library outside an operator call. Strides count elements.
/// `std::mdspan`, `cuda::std::mdspan` and anything of that shape convert implicitly.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/extents.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// The shape of std::mdspan: rank, extent(r), stride(r), data_handle().
template <class M, class = void>
inline constexpr bool is_mdspan_like = false;
template <class M>
inline constexpr bool
    is_mdspan_like<M, decltype(void(M::rank()), void(std::declval<M const&>().extent(0)),
                               void(std::declval<M const&>().stride(0)),
                               void(*std::declval<M const&>().data_handle()))> = true;

template <class M, std::size_t Rank, class = void>
inline constexpr bool is_mdspan_of_rank = false;
template <class M, std::size_t Rank>
inline constexpr bool is_mdspan_of_rank<M, Rank, std::enable_if_t<is_mdspan_like<M>>> =
    M::rank() == Rank;

template <class M>
using mdspan_element = std::remove_reference_t<decltype(*std::declval<M const&>().data_handle())>;

// U* converts to T* without slicing: U is T, or T is U with const added.
template <class U, class T>
inline constexpr bool adds_const = std::is_convertible_v<U (*)[], T (*)[]>;

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// A strided view of one axis.
template <class T>
class tensor1 {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  SLICESORT_ABI_TAG tensor1() = default;
  template <class Size, class Stride = index_t, class = detail::require_integers<Size, Stride>>
  SLICESORT_HD_ABI_TAG constexpr tensor1(T* data, Size size, Stride stride = 1)
      : data_(data), size_(detail::to_index(size)), stride_(detail::to_index(stride)) {}
  template <class U, std::enable_if_t<detail::adds_const<U, T> && !std::is_same_v<U, T>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor1(tensor1<U> other)
      : data_(other.data()), size_(other.size()), stride_(other.stride()) {}
  template <class M, std::enable_if_t<detail::is_mdspan_of_rank<M, 1>, int> = 0>
  SLICESORT_ABI_TAG constexpr tensor1(M const& m)
      : data_(m.data_handle()),
        size_(detail::to_index(m.extent(0))),
        stride_(detail::to_index(m.stride(0))) {}

  SLICESORT_HD_ABI_TAG constexpr T* data() const { return data_; }
  SLICESORT_HD_ABI_TAG constexpr index_t size() const { return size_; }
  SLICESORT_HD_ABI_TAG constexpr index_t stride() const { return stride_; }
  SLICESORT_HD_ABI_TAG constexpr T& operator()(index_t i) const { return data_[i * stride_]; }

 private:
  T* data_ = nullptr;
  index_t size_ = 0;
  index_t stride_ = 1;
};

/// A strided view `[batch, length, channels]`.
template <class T>
class tensor3 {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  SLICESORT_ABI_TAG tensor3() = default;
  SLICESORT_HD_ABI_TAG constexpr tensor3(T* data, extents3 extents)
      : data_(data), extents_(extents), strides_(row_major(extents)) {}
  SLICESORT_HD_ABI_TAG constexpr tensor3(T* data, extents3 extents, strides3 strides)
      : data_(data), extents_(extents), strides_(strides) {}
  template <class U, std::enable_if_t<detail::adds_const<U, T> && !std::is_same_v<U, T>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor3(tensor3<U> other)
      : data_(other.data()), extents_(other.extents()), strides_(other.strides()) {}
  template <class M, std::enable_if_t<detail::is_mdspan_of_rank<M, 3>, int> = 0>
  SLICESORT_ABI_TAG constexpr tensor3(M const& m)
      : data_(m.data_handle()),
        extents_{detail::to_index(m.extent(0)), detail::to_index(m.extent(1)),
                 detail::to_index(m.extent(2))},
        strides_{detail::to_index(m.stride(0)), detail::to_index(m.stride(1)),
                 detail::to_index(m.stride(2))} {}

  SLICESORT_HD_ABI_TAG constexpr T* data() const { return data_; }
  SLICESORT_HD_ABI_TAG constexpr extents3 extents() const { return extents_; }
  SLICESORT_HD_ABI_TAG constexpr strides3 strides() const { return strides_; }
  /// Elements between `data()` and the element at `[batch, row, channel]`, in 64 bits.
  SLICESORT_HD_ABI_TAG constexpr index_t offset(index_t batch, index_t row, index_t channel) const {
    return batch * strides_.batch + row * strides_.length + channel * strides_.channels;
  }
  SLICESORT_HD_ABI_TAG constexpr T& operator()(index_t batch, index_t row, index_t channel) const {
    return data_[offset(batch, row, channel)];
  }

 private:
  T* data_ = nullptr;
  extents3 extents_;
  strides3 strides_;
};

/// A strided view `[outer, batch, length, channels]`: a stack of `tensor3`; a `tensor3` converts.
template <class T>
class tensor4 {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  SLICESORT_ABI_TAG tensor4() = default;
  SLICESORT_HD_ABI_TAG constexpr tensor4(T* data, extents4 extents)
      : data_(data), extents_(extents), strides_(row_major(extents)) {}
  SLICESORT_HD_ABI_TAG constexpr tensor4(T* data, extents4 extents, strides4 strides)
      : data_(data), extents_(extents), strides_(strides) {}
  template <class U, std::enable_if_t<detail::adds_const<U, T> && !std::is_same_v<U, T>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor4(tensor4<U> other)
      : data_(other.data()), extents_(other.extents()), strides_(other.strides()) {}
  template <class U, std::enable_if_t<detail::adds_const<U, T>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor4(tensor3<U> one)
      : data_(one.data()),
        extents_{1, one.extents().batch, one.extents().length, one.extents().channels},
        strides_{0, one.strides().batch, one.strides().length, one.strides().channels} {}
  template <class M, std::enable_if_t<detail::is_mdspan_of_rank<M, 4>, int> = 0>
  SLICESORT_ABI_TAG constexpr tensor4(M const& m)
      : data_(m.data_handle()),
        extents_{detail::to_index(m.extent(0)), detail::to_index(m.extent(1)),
                 detail::to_index(m.extent(2)), detail::to_index(m.extent(3))},
        strides_{detail::to_index(m.stride(0)), detail::to_index(m.stride(1)),
                 detail::to_index(m.stride(2)), detail::to_index(m.stride(3))} {}

  SLICESORT_HD_ABI_TAG constexpr T* data() const { return data_; }
  SLICESORT_HD_ABI_TAG constexpr extents4 extents() const { return extents_; }
  SLICESORT_HD_ABI_TAG constexpr strides4 strides() const { return strides_; }

  /// One tensor of the stack.
  SLICESORT_HD_ABI_TAG constexpr tensor3<T> operator[](index_t outer) const {
    return {data_ == nullptr ? data_ : data_ + outer * strides_.outer, extents_.each(),
            strides_.each()};
  }
  SLICESORT_HD_ABI_TAG constexpr T& operator()(index_t outer, index_t batch, index_t row,
                                               index_t channel) const {
    return data_[outer * strides_.outer + batch * strides_.batch + row * strides_.length +
                 channel * strides_.channels];
  }

 private:
  T* data_ = nullptr;
  extents4 extents_;
  strides4 strides_;
};

/// The heads of `[batch, length, heads * channels]` as `[batch, heads, length, channels]`, without
/// a copy. `heads` must divide the channels; else every operator refuses the view.
template <class T>
SLICESORT_HD_ABI_TAG constexpr tensor4<T> split_heads(tensor3<T> x, index_t heads) {
  extents3 const e = x.extents();
  strides3 const s = x.strides();
  index_t const each = heads > 0 && e.channels % heads == 0 ? e.channels / heads : -1;
  return {x.data(),
          {e.batch, heads, e.length, each},
          {s.batch, detail::product(each, s.channels), s.length, s.channels}};
}

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <class T>
struct view_of_rank3 {
  static_assert(is_mdspan_of_rank<T, 3>,
                "slicesort: this argument must be a view [batch, length, channels]: "
                "slicesort::tensor3<T>, or an mdspan of rank 3.");
  using type = tensor3<mdspan_element<T>>;
};
template <class T>
struct view_of_rank3<tensor3<T>> {
  using type = tensor3<T>;
};
template <class T>
using view_of_rank3_t = typename view_of_rank3<T>::type;

template <class T>
using element_of_rank3 = typename view_of_rank3_t<T>::value_type;

// True for a view that an argument of this rank takes.
template <class T>
inline constexpr bool is_view_of_rank3 = is_mdspan_of_rank<T, 3>;
template <class T>
inline constexpr bool is_view_of_rank3<tensor3<T>> = true;
template <class T>
inline constexpr bool is_view_of_rank4 = is_view_of_rank3<T> || is_mdspan_of_rank<T, 4>;
template <class T>
inline constexpr bool is_view_of_rank4<tensor4<T>> = true;
template <class T>
using if_view_of_rank3 = std::enable_if_t<is_view_of_rank3<T>, int>;
template <class T>
using if_view_of_rank4 = std::enable_if_t<is_view_of_rank4<T>, int>;

// A view of rank 4, or one of rank 3 as a stack of one.
template <class T>
struct view_of_rank4 {
  static_assert(is_mdspan_of_rank<T, 3> || is_mdspan_of_rank<T, 4>,
                "slicesort: this argument must be a view [outer, batch, length, channels]: "
                "slicesort::tensor4<T>, or an mdspan of rank 4; or one of rank 3, if outer is 1.");
  using type = tensor4<mdspan_element<T>>;
  static constexpr type of(T const& view) {
    if constexpr (is_mdspan_of_rank<T, 3>)
      return tensor3<mdspan_element<T>>(view);
    else
      return view;
  }
};
template <class T>
struct view_of_rank4<tensor4<T>> {
  using type = tensor4<T>;
  static constexpr type of(tensor4<T> view) { return view; }
};
template <class T>
struct view_of_rank4<tensor3<T>> {
  using type = tensor4<T>;
  static constexpr type of(tensor3<T> view) { return view; }
};
template <class T>
using view_of_rank4_t = typename view_of_rank4<T>::type;

SLICESORT_DETAIL_END
