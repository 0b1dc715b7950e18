// SPDX-License-Identifier: Apache-2.0
// XLA's buffers as the arrays of ../bindings.
#pragma once

#include "../../bindings/array.hpp"

#include <xla/ffi/api/ffi.h>

#include <cstddef>

namespace slicesort_jax {

namespace ffi = xla::ffi;
namespace ss = slicesort;
using bindings::array;
using bindings::optional_array;
using ss::index_t;
using in = ffi::AnyBuffer;
using out = ffi::Result<ffi::AnyBuffer>;

inline bindings::dtype type_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F16:
      return bindings::dtype::f16;
    case ffi::DataType::BF16:
      return bindings::dtype::bf16;
    case ffi::DataType::F32:
      return bindings::dtype::f32;
    case ffi::DataType::F64:
      return bindings::dtype::f64;
    case ffi::DataType::U8:
      return bindings::dtype::u8;
    case ffi::DataType::U16:
      return bindings::dtype::u16;
    case ffi::DataType::S32:
      return bindings::dtype::i32;
    case ffi::DataType::U32:
      return bindings::dtype::u32;
    case ffi::DataType::S64:
      return bindings::dtype::i64;
    default:
      return bindings::dtype::other;
  }
}

/// JAX's arrays are dense, the last axis first. Of more axes than an array has, the first ones are
/// kept: `rank` tells, and no operator takes so many.
inline array to_array(char const* name, in const& buffer) {
  auto const extents = buffer.dimensions();
  array a;
  a.name = name;
  a.data = buffer.untyped_data();
  a.type = type_of(buffer.element_type());
  a.rank = static_cast<int>(extents.size());
  index_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0; stride *= extents[axis]) {
    if (axis >= a.extents.size()) continue;
    a.extents[axis] = extents[axis];
    a.strides[axis] = stride;
  }
  return a;
}
inline array to_array(char const* name, out& buffer) { return to_array(name, *buffer); }

/// An FFI call has a fixed number of buffers. One of no booleans stands for an array that is
/// missing: no operator takes booleans.
inline bool is_missing(in const& buffer) {
  return buffer.element_type() == ffi::DataType::PRED && buffer.dimensions().size() == 1 &&
         buffer.element_count() == 0;
}
inline optional_array to_optional(char const* name, in const& buffer) {
  if (is_missing(buffer)) return std::nullopt;
  return to_array(name, buffer);
}
inline optional_array to_optional(char const* name, out& buffer) {
  return to_optional(name, *buffer);
}

}  // namespace slicesort_jax
