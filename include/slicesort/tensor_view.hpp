// SPDX-License-Identifier: Apache-2.0
/// Non-owning strided views: `tensor1<T>`, `tensor3<T>` = `[batch, length, channels]`, `tensor4<T>`
/// = `[batch, heads, length, channels]` of attention, and `tensor_stack<T>`, a stack of `tensor3`
/// = `[outer, batch, length, channels]`. Views are trivially copyable and passed by value; only
/// operator calls access the memory. Strides count elements. `std::mdspan`, `cuda::std::mdspan` and
/// types with the same members convert implicitly.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/extents.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

// True for types with the members of std::mdspan: rank, extent(r), stride(r), data_handle().
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

// True if T is U, or U with const added. Excludes derived classes, although their pointers convert.
template <class U, class T>
inline constexpr bool adds_const = std::is_convertible_v<U (*)[], T (*)[]>;
template <class U, class T>
using if_adds_const = std::enable_if_t<adds_const<U, T> && !std::is_same_v<U, T>, int>;
template <class M, std::size_t Rank>
using if_mdspan_of_rank = std::enable_if_t<is_mdspan_of_rank<M, Rank>, int>;

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

/// A strided view with one axis.
template <class T>
class tensor1 {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  SLICESORT_ABI_TAG tensor1() = default;
  template <class Size, class Stride = index_t, class = detail::require_integers<Size, Stride>>
  SLICESORT_HD_ABI_TAG constexpr tensor1(T* data, Size size, Stride stride = 1)
      : data_(data), size_(detail::to_index(size)), stride_(detail::to_index(stride)) {}
  template <class U, detail::if_adds_const<U, T> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor1(tensor1<U> other)
      : data_(other.data()), size_(other.size()), stride_(other.stride()) {}
  template <class M, detail::if_mdspan_of_rank<M, 1> = 0>
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

/// Base of the strided views with several axes.
template <class T, class Extents, class Strides>
class strided_view {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  SLICESORT_HD_ABI_TAG constexpr T* data() const { return data_; }
  SLICESORT_HD_ABI_TAG constexpr Extents extents() const { return extents_; }
  SLICESORT_HD_ABI_TAG constexpr Strides strides() const { return strides_; }

 protected:
  SLICESORT_ABI_TAG strided_view() = default;
  SLICESORT_HD_ABI_TAG constexpr strided_view(T* data, Extents extents, Strides strides)
      : data_(data), extents_(extents), strides_(strides) {}
  template <class M, std::size_t... axis>
  SLICESORT_ABI_TAG constexpr strided_view(M const& m, std::index_sequence<axis...>)
      : data_(m.data_handle()),
        extents_{detail::to_index(m.extent(axis))...},
        strides_{detail::to_index(m.stride(axis))...} {}

  T* data_ = nullptr;
  Extents extents_;
  Strides strides_;
};

/// A strided view `[batch, length, channels]`.
template <class T>
class tensor3 : public strided_view<T, extents3, strides3> {
  using base = strided_view<T, extents3, strides3>;

 public:
  SLICESORT_ABI_TAG tensor3() = default;
  SLICESORT_HD_ABI_TAG constexpr tensor3(T* data, extents3 extents)
      : base(data, extents, row_major(extents)) {}
  SLICESORT_HD_ABI_TAG constexpr tensor3(T* data, extents3 extents, strides3 strides)
      : base(data, extents, strides) {}
  template <class U, detail::if_adds_const<U, T> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor3(tensor3<U> other)
      : base(other.data(), other.extents(), other.strides()) {}
  template <class M, detail::if_mdspan_of_rank<M, 3> = 0>
  SLICESORT_ABI_TAG constexpr tensor3(M const& m) : base(m, std::make_index_sequence<3>()) {}

  /// Offset in elements from `data()` to the element at `[batch, row, channel]`, in 64 bits.
  SLICESORT_HD_ABI_TAG constexpr index_t offset(index_t batch, index_t row, index_t channel) const {
    strides3 const& s = this->strides_;
    return batch * s.batch + row * s.length + channel * s.channels;
  }
  SLICESORT_HD_ABI_TAG constexpr T& operator()(index_t batch, index_t row, index_t channel) const {
    return this->data_[offset(batch, row, channel)];
  }
};

/// A strided view `[batch, heads, length, channels]` of an attention tensor.
template <class T>
class tensor4 : public strided_view<T, extents4, strides4> {
  using base = strided_view<T, extents4, strides4>;

 public:
  SLICESORT_ABI_TAG tensor4() = default;
  SLICESORT_HD_ABI_TAG constexpr tensor4(T* data, extents4 extents)
      : base(data, extents, row_major(extents)) {}
  SLICESORT_HD_ABI_TAG constexpr tensor4(T* data, extents4 extents, strides4 strides)
      : base(data, extents, strides) {}
  template <class U, detail::if_adds_const<U, T> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor4(tensor4<U> other)
      : base(other.data(), other.extents(), other.strides()) {}
  template <class M, detail::if_mdspan_of_rank<M, 4> = 0>
  SLICESORT_ABI_TAG constexpr tensor4(M const& m) : base(m, std::make_index_sequence<4>()) {}

  SLICESORT_HD_ABI_TAG constexpr T& operator()(index_t batch, index_t head, index_t row,
                                               index_t channel) const {
    strides4 const& s = this->strides_;
    return this->data_[batch * s.batch + head * s.heads + row * s.length + channel * s.channels];
  }
};

/// A strided view `[outer, batch, length, channels]`: a stack of `tensor3`. A `tensor3` converts to
/// a stack of one.
template <class T>
class tensor_stack : public strided_view<T, stack_extents, stack_strides> {
  using base = strided_view<T, stack_extents, stack_strides>;

 public:
  SLICESORT_ABI_TAG tensor_stack() = default;
  SLICESORT_HD_ABI_TAG constexpr tensor_stack(T* data, stack_extents extents)
      : base(data, extents, row_major(extents)) {}
  SLICESORT_HD_ABI_TAG constexpr tensor_stack(T* data, stack_extents extents, stack_strides strides)
      : base(data, extents, strides) {}
  template <class U, detail::if_adds_const<U, T> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor_stack(tensor_stack<U> other)
      : base(other.data(), other.extents(), other.strides()) {}
  template <class M, detail::if_mdspan_of_rank<M, 4> = 0>
  SLICESORT_ABI_TAG constexpr tensor_stack(M const& m) : base(m, std::make_index_sequence<4>()) {}
  template <class U, std::enable_if_t<detail::adds_const<U, T>, int> = 0>
  SLICESORT_HD_ABI_TAG constexpr tensor_stack(tensor3<U> tensor)
      : base(tensor.data(),
             {1, tensor.extents().batch, tensor.extents().length, tensor.extents().channels},
             {0, tensor.strides().batch, tensor.strides().length, tensor.strides().channels}) {}

  /// One tensor of the stack.
  SLICESORT_HD_ABI_TAG constexpr tensor3<T> operator[](index_t outer) const {
    T* const first = this->data_;
    return {first == nullptr ? first : first + outer * this->strides_.outer,
            this->extents_.tensor(), this->strides_.tensor()};
  }
  SLICESORT_HD_ABI_TAG constexpr T& operator()(index_t outer, index_t batch, index_t row,
                                               index_t channel) const {
    stack_strides const& s = this->strides_;
    return this->data_[outer * s.outer + batch * s.batch + row * s.length + channel * s.channels];
  }
};

/// Views `[batch, length, heads * channels]` as `[batch, heads, length, channels]`, without a copy,
/// for any element type. `heads` must divide the channels; otherwise every operator rejects the
/// view.
template <class T>
SLICESORT_HD_ABI_TAG constexpr tensor4<T> split_heads(tensor3<T> x, index_t heads) {
  extents3 const e = x.extents();
  strides3 const s = x.strides();
  index_t const channels = heads > 0 && e.channels % heads == 0 ? e.channels / heads : -1;
  return {x.data(),
          {e.batch, heads, e.length, channels},
          {s.batch, detail::product(channels, s.channels), s.length, s.channels}};
}

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// Library view that an argument of type View converts to.
template <class View, template <class> class Tensor>
struct converted_view {
  using type = Tensor<mdspan_element<View>>;
};
template <class T, template <class> class Tensor>
struct converted_view<Tensor<T>, Tensor> {
  using type = Tensor<T>;
};
template <class T>
struct converted_view<tensor3<T>, tensor_stack> {
  using type = tensor_stack<T>;
};

// True if an argument of type View converts to the operator's view type.
template <class View, template <class> class Tensor, std::size_t Rank>
inline constexpr bool is_view = is_mdspan_of_rank<View, Rank>;
template <class T, template <class> class Tensor, std::size_t Rank>
inline constexpr bool is_view<Tensor<T>, Tensor, Rank> = true;
template <class View>
inline constexpr bool is_view_of_rank3 = is_view<View, tensor3, 3>;
template <class View>
inline constexpr bool is_view_of_heads = is_view<View, tensor4, 4>;
template <class View>
inline constexpr bool is_view_of_stack = is_view_of_rank3<View> || is_view<View, tensor_stack, 4>;
template <class View>
using if_view_of_rank3 = std::enable_if_t<is_view_of_rank3<View>, int>;
template <class View>
using if_view_of_heads = std::enable_if_t<is_view_of_heads<View>, int>;
template <class View>
using if_view_of_stack = std::enable_if_t<is_view_of_stack<View>, int>;

template <class View>
struct view_of_rank3 {
  static_assert(is_view_of_rank3<View>,
                "slicesort: this argument must be a view [batch, length, channels]: "
                "slicesort::tensor3<T>, or an mdspan of rank 3.");
  using type = typename converted_view<View, tensor3>::type;
};
template <class View>
struct view_of_heads {
  static_assert(is_view_of_heads<View>,
                "slicesort: this argument must be a view [batch, heads, length, channels]: "
                "slicesort::tensor4<T>, or an mdspan of rank 4.");
  using type = typename converted_view<View, tensor4>::type;
};
template <class View>
struct view_of_stack {
  static_assert(is_view_of_stack<View>,
                "slicesort: this argument must be a view [outer, batch, length, channels]: "
                "slicesort::tensor_stack<T>, or an mdspan of rank 4; or one of rank 3, if outer "
                "is 1.");
  using type = typename converted_view<View, tensor_stack>::type;
};
template <class View>
using view_of_rank3_t = typename view_of_rank3<View>::type;
template <class View>
using view_of_heads_t = typename view_of_heads<View>::type;
template <class View>
using view_of_stack_t = typename view_of_stack<View>::type;
template <class View>
using element_of_rank3 = typename view_of_rank3_t<View>::value_type;

// Converts a view to a stack; a view of rank 3 becomes a stack of one tensor.
template <class View>
constexpr view_of_stack_t<View> to_stack(View const& view) {
  if constexpr (is_mdspan_of_rank<View, 3>)
    return tensor3<mdspan_element<View>>(view);
  else
    return view;
}

SLICESORT_DETAIL_END
