// SPDX-License-Identifier: Apache-2.0
// Tensors with a run-time element type and rank, and the library's views of them.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace bindings {

namespace ss = slicesort;
using ss::index_t;

enum class dtype { f16, bf16, f32, f64, u8, u16, i32, u32, i64, boolean, other };

/// A strided tensor of up to four axes; strides count elements. Error messages use `name`.
struct array {
  char const* name = "";
  void* data = nullptr;
  dtype type = dtype::other;
  int rank = 0;
  std::array<index_t, 4> extents{}, strides{};
};
using optional_array = std::optional<array>;

[[noreturn]] inline void throw_invalid(std::string const& message) {
  throw ss::invalid_argument(message);
}

/// Calls `f` with a value of the array's element type, for `decltype`, for operators that support
/// only float and double. Throws if the operator does not support the type.
template <class F>
void with_float(array const& tensor, F const& f) {
  switch (tensor.type) {
    case dtype::f32:
      return f(float{});
    case dtype::f64:
      return f(double{});
    default:
      throw_invalid(std::string(tensor.name) + ": the dtype must be float32 or float64");
  }
}
/// Like `with_float`, for operators that support every dtype. Define BINDINGS_WITHOUT_16_BIT to
/// compile them for float and double alone, in half the time.
template <class F>
void with_element(array const& tensor, F const& f) {
#ifdef BINDINGS_WITHOUT_16_BIT
  with_float(tensor, f);
#else
  switch (tensor.type) {
    case dtype::f32:
      return f(float{});
    case dtype::f64:
      return f(double{});
    case dtype::f16:
      return f(ss::float16{});
    case dtype::bf16:
      return f(ss::bfloat16{});
    default:
      throw_invalid(std::string(tensor.name) +
                    ": the dtype must be float32, float64, float16 or bfloat16");
  }
#endif
}

namespace detail {

template <class T>
inline constexpr dtype dtype_of = dtype::other;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;
template <>
inline constexpr dtype dtype_of<ss::float16> = dtype::f16;
template <>
inline constexpr dtype dtype_of<ss::bfloat16> = dtype::bf16;
template <>
inline constexpr dtype dtype_of<index_t> = dtype::i64;
template <>
inline constexpr dtype dtype_of<bool> = dtype::boolean;

inline void require_rank(array const& tensor, int rank, char const* axes) {
  if (tensor.rank != rank)
    throw_invalid(std::string(tensor.name) + " must be " + axes + ", has " +
                  std::to_string(tensor.rank) + (tensor.rank == 1 ? " axis" : " axes"));
}
template <class T>
T* elements(array const& tensor) {
  using element = std::remove_const_t<T>;
  if (tensor.type != dtype_of<element>)
    throw_invalid(std::string(tensor.name) +
                  (std::is_same_v<element, index_t> ? " must have dtype int64"
                   : std::is_same_v<element, bool>
                       ? " must have dtype bool"
                       : ": the dtype must be that of the other tensors (state and weights: the "
                         "accumulator's, float64 for float64, else float32)"));
  return static_cast<T*>(tensor.data);
}
template <class Index>
ss::tensor3<Index> indices(array const& tensor) {
  return {static_cast<Index*>(tensor.data),
          {tensor.extents[0], tensor.extents[1], tensor.extents[2]},
          {tensor.strides[0], tensor.strides[1], tensor.strides[2]}};
}

}  // namespace detail

template <class T>
ss::tensor1<T> view1(array const& tensor, char const* axes) {
  detail::require_rank(tensor, 1, axes);
  return {detail::elements<T>(tensor), tensor.extents[0], tensor.strides[0]};
}
template <class T>
ss::tensor3<T> view3(array const& tensor, char const* axes = "[batch, length, channels]") {
  detail::require_rank(tensor, 3, axes);
  return {detail::elements<T>(tensor),
          {tensor.extents[0], tensor.extents[1], tensor.extents[2]},
          {tensor.strides[0], tensor.strides[1], tensor.strides[2]}};
}
template <class T, template <class> class View = ss::tensor4>
View<T> view4(array const& tensor, char const* axes = "[batch, heads, length, channels]") {
  detail::require_rank(tensor, 4, axes);
  return {detail::elements<T>(tensor),
          {tensor.extents[0], tensor.extents[1], tensor.extents[2], tensor.extents[3]},
          {tensor.strides[0], tensor.strides[1], tensor.strides[2], tensor.strides[3]}};
}
/// Views `[batch, numbers, channels]`, the state of an operator, with a length of 1.
template <class T>
ss::tensor4<T> state_view(array const& tensor, char const* axes) {
  auto const& e = tensor.extents;
  auto const& s = tensor.strides;
  detail::require_rank(tensor, 3, axes);
  return {detail::elements<T>(tensor), {e[0], e[1], 1, e[2]}, {s[0], s[1], 0, s[2]}};
}
/// Returns a null view if the array is missing.
template <class T>
ss::tensor3<T> view3_or_none(optional_array const& tensor, char const* axes) {
  return tensor ? view3<T>(*tensor, axes) : ss::tensor3<T>{};
}
template <class T>
ss::tensor4<T> view4_or_none(optional_array const& tensor, char const* axes) {
  return tensor ? view4<T>(*tensor, axes) : ss::tensor4<T>{};
}

inline ss::index_tensor3 index_view(array const& tensor) {
  detail::require_rank(tensor, 3, "[batch, length, channels]");
  switch (tensor.type) {
    case dtype::u8:
      return detail::indices<std::uint8_t>(tensor);
    case dtype::u16:
      return detail::indices<std::uint16_t>(tensor);
    case dtype::i32:
      return detail::indices<std::int32_t>(tensor);
    case dtype::u32:
      return detail::indices<std::uint32_t>(tensor);
    default:
      throw_invalid(std::string(tensor.name) + ": the dtype must be uint16, int32 or uint32");
  }
}
/// Returns a view of the state that forward writes, or `no_saved` if the array is missing.
inline ss::saved_permutation saved_view(optional_array const& tensor) {
  if (tensor) return {index_view(*tensor)};
  return ss::no_saved;
}

/// Returns the sample lengths, int64, or a null view (all rows are valid) if the array is missing.
/// Replaces the null pointer of an empty array, so that its view is not a null view.
inline ss::tensor1<index_t const> lengths_of(optional_array const& tensor) {
  static constexpr index_t placeholder = 0;
  if (!tensor) return {};
  auto const lengths = view1<index_t const>(*tensor, "[batch]");
  return lengths.data() != nullptr ? lengths : ss::tensor1<index_t const>(&placeholder, 0);
}

}  // namespace bindings
