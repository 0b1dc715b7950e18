// SPDX-License-Identifier: Apache-2.0
// Tensors whose element type and rank are known at run time, as frameworks hand them over, and the
// library's views of them.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>

namespace bindings {

namespace ss = slicesort;
using ss::index_t;

enum class dtype { f16, bf16, f32, f64, u8, u16, i32, u32, i64, other };

/// A strided tensor of up to four axes; strides count elements. `name` is what messages call it.
struct array {
  char const* name = "";
  void* data = nullptr;
  dtype type = dtype::other;
  int rank = 0;
  std::array<index_t, 4> extents{}, strides{};
};
using optional_array = std::optional<array>;

[[noreturn]] inline void refuse(std::string const& sentence) {
  throw ss::invalid_argument(sentence);
}

/// The sentence of an error. That of a workspace's size names the operator alone: adapters ask for
/// the size themselves.
inline std::string sentence_of(std::exception const& error) {
  std::string sentence = error.what();
  std::string const member = ".workspace_bytes:";
  if (auto const i = sentence.find(member); i != std::string::npos)
    sentence.erase(i, member.size() - 1);
  return sentence;
}

/// Calls `f` with a zero of the array's element type; refuses types that no operator takes.
template <class F>
void with_element(array const& a, F const& f) {
  switch (a.type) {
    case dtype::f32:
      return f(float{});
    case dtype::f64:
      return f(double{});
    case dtype::f16:
      return f(ss::float16{});
    case dtype::bf16:
      return f(ss::bfloat16{});
    default:
      refuse(std::string(a.name) + ": the dtype must be float32, float64, float16 or bfloat16");
  }
}
/// The same for operators of single and double precision alone.
template <class F>
void with_float(array const& a, F const& f) {
  switch (a.type) {
    case dtype::f32:
      return f(float{});
    case dtype::f64:
      return f(double{});
    default:
      refuse(std::string(a.name) + ": the dtype must be float32 or float64");
  }
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

inline void require_rank(array const& a, int rank, char const* axes) {
  if (a.rank != rank)
    refuse(std::string(a.name) + " must be " + axes + ", has " + std::to_string(a.rank) +
           (a.rank == 1 ? " axis" : " axes"));
}
template <class T>
T* elements(array const& a) {
  using element = std::remove_const_t<T>;
  if (a.type != dtype_of<element>)
    refuse(std::string(a.name) +
           (std::is_same_v<element, index_t>
                ? " must have dtype int64"
                : ": the dtype must be that of the other tensors (the state's and the weights' "
                  "that sums are formed in: float64 for float64, else float32)"));
  return static_cast<T*>(a.data);
}
template <class Index>
ss::tensor3<Index> indices(array const& a) {
  return {static_cast<Index*>(a.data),
          {a.extents[0], a.extents[1], a.extents[2]},
          {a.strides[0], a.strides[1], a.strides[2]}};
}

}  // namespace detail

template <class T>
ss::tensor1<T> view1(array const& a, char const* axes) {
  detail::require_rank(a, 1, axes);
  return {detail::elements<T>(a), a.extents[0], a.strides[0]};
}
template <class T>
ss::tensor3<T> view3(array const& a, char const* axes = "[batch, length, channels]") {
  detail::require_rank(a, 3, axes);
  return {detail::elements<T>(a),
          {a.extents[0], a.extents[1], a.extents[2]},
          {a.strides[0], a.strides[1], a.strides[2]}};
}
template <class T, template <class> class View = ss::tensor4>
View<T> view4(array const& a, char const* axes = "[batch, heads, length, channels]") {
  detail::require_rank(a, 4, axes);
  return {detail::elements<T>(a),
          {a.extents[0], a.extents[1], a.extents[2], a.extents[3]},
          {a.strides[0], a.strides[1], a.strides[2], a.strides[3]}};
}
/// A null view where there is no array.
template <class T>
ss::tensor3<T> view3_or_none(optional_array const& a, char const* axes) {
  return a ? view3<T>(*a, axes) : ss::tensor3<T>{};
}
template <class T>
ss::tensor4<T> view4_or_none(optional_array const& a, char const* axes) {
  return a ? view4<T>(*a, axes) : ss::tensor4<T>{};
}

inline ss::index_tensor3 index_view(array const& a) {
  detail::require_rank(a, 3, "[batch, length, channels]");
  switch (a.type) {
    case dtype::u8:
      return detail::indices<std::uint8_t>(a);
    case dtype::u16:
      return detail::indices<std::uint16_t>(a);
    case dtype::i32:
      return detail::indices<std::int32_t>(a);
    case dtype::u32:
      return detail::indices<std::uint32_t>(a);
    default:
      refuse(std::string(a.name) + ": the dtype must be uint16, int32 or uint32");
  }
}
/// The state that forward writes: none without an array.
inline ss::saved_permutation saved(optional_array const& a) {
  if (a) return {index_view(*a)};
  return ss::no_saved;
}

/// Lengths of samples, int64; all rows are valid where there is no array. One of no elements may
/// have a null pointer, which would say that there is none.
inline ss::tensor1<index_t const> lengths_of(optional_array const& a) {
  static constexpr index_t somewhere = 0;
  if (!a) return {};
  auto const lengths = view1<index_t const>(*a, "[batch]");
  return lengths.data() != nullptr ? lengths : ss::tensor1<index_t const>(&somewhere, 0);
}

}  // namespace bindings
