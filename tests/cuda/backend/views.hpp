// SPDX-License-Identifier: Apache-2.0
// Visits the views in the params of any operator, field by field, to move them to other memory.
#pragma once

#include "fields.hpp"

#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace support {

namespace ss = slicesort;

enum class access { read, written, scratch };

// The bytes from the first to the last element, including gaps.
struct byte_range {
  unsigned char* begin = nullptr;
  std::size_t bytes = 0;
};

inline byte_range range_of(void const* data, ss::stack_extents e, ss::stack_strides s,
                           std::size_t element_bytes) {
  if (data == nullptr || e.empty()) return {};
  ss::index_t lowest = 0, highest = 0;  // a bias by distance has negative strides
  for (ss::index_t const span : {(e.outer - 1) * s.outer, (e.batch - 1) * s.batch,
                                 (e.length - 1) * s.length, (e.channels - 1) * s.channels})
    (span < 0 ? lowest : highest) += span;
  auto const bytes = static_cast<ss::index_t>(element_bytes);
  return {static_cast<unsigned char*>(const_cast<void*>(data)) + lowest * bytes,
          static_cast<std::size_t>((highest - lowest + 1) * bytes)};
}
inline byte_range range_of(void const* data, ss::extents3 e, ss::strides3 s,
                           std::size_t element_bytes) {
  return range_of(data, ss::detail::stack_of_one(e), ss::detail::stack_of_one(s), element_bytes);
}
inline byte_range range_of(void const* data, ss::extents4 e, ss::strides4 s,
                           std::size_t element_bytes) {
  return range_of(data, ss::stack_extents(e.batch, e.heads, e.length, e.channels),
                  {s.batch, s.heads, s.length, s.channels}, element_bytes);
}
// Overload for `tensor3`, `tensor4` and `tensor_stack`.
template <class T, template <class> class View>
auto range_of(View<T> v) -> decltype(range_of(v.data(), v.extents(), v.strides(), sizeof(T))) {
  return range_of(v.data(), v.extents(), v.strides(), sizeof(T));
}
template <class T>
byte_range range_of(ss::tensor1<T> v) {
  return range_of(v.data(), ss::extents3{1, v.size(), 1}, {0, v.stride(), 0}, sizeof(T));
}
template <bool Const>
byte_range range_of(ss::basic_index_tensor3<Const> v) {
  return range_of(v.data(), v.extents(), v.strides(), static_cast<std::size_t>(v.width()));
}

// Points a view to other memory, with the same extents and strides.
template <class T, template <class> class View>
auto move_to(View<T>& v, void* data) -> decltype(void(v.strides())) {
  v = {static_cast<T*>(data), v.extents(), v.strides()};
}
template <class T>
void move_to(ss::tensor1<T>& v, void* data) {
  v = {static_cast<T*>(data), v.size(), v.stride()};
}
template <bool Const>
void move_to(ss::basic_index_tensor3<Const>& v, void* data) {
  if (v.width() == ss::index_width::bits8)
    v = ss::tensor3<std::uint8_t>(static_cast<std::uint8_t*>(data), v.extents(), v.strides());
  else if (v.width() == ss::index_width::bits16)
    v = ss::tensor3<std::uint16_t>(static_cast<std::uint16_t*>(data), v.extents(), v.strides());
  else
    v = ss::tensor3<std::uint32_t>(static_cast<std::uint32_t*>(data), v.extents(), v.strides());
}

// The views of params are its fields of the types above, also in nested arrays and aggregates.
// Const views are inputs, all others outputs.

template <class Params, class F>
void for_each_view(Params& params, F const& f);

// Skips views without data, which stand for omitted arguments.
template <class T, template <class> class View, class F>
auto for_each_view(View<T>& v, F const& f) -> decltype(void(v.strides())) {
  if (v.data() != nullptr) f(v, std::is_const_v<T> ? access::read : access::written);
}
template <class T, class F>
void for_each_view(ss::tensor1<T>& v, F const& f) {
  if (v.data() != nullptr) f(v, std::is_const_v<T> ? access::read : access::written);
}
template <bool Const, class F>
void for_each_view(ss::basic_index_tensor3<Const>& v, F const& f) {
  if (v.data() != nullptr) f(v, Const ? access::read : access::written);
}

template <class T, std::size_t N, class F>
void for_each_view(std::array<T, N>& list, F const& f) {
  for (T& element : list) for_each_view(element, f);
}

// Calls f(view, access) for every view.
template <class Params, class F>
void for_each_view(Params& params, F const& f) {
  if constexpr (has_fields<Params>)
    with_fields(params, [&](auto&... field) { (for_each_view(field, f), ...); });
  else
    (void)params, (void)f;
}

}  // namespace support
