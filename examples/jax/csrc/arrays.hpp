// SPDX-License-Identifier: Apache-2.0
// Converts XLA buffers to the arrays of ../bindings.
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
using input = ffi::AnyBuffer;
using output = ffi::Result<ffi::AnyBuffer>;

inline bindings::dtype dtype_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED:
      return bindings::dtype::boolean;
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

/// Converts a buffer. JAX arrays are dense and row-major. Stores the extents of at most four axes;
/// `rank` counts all axes, so that operators reject larger ranks.
inline array to_array(char const* name, input const& buffer) {
  auto const extents = buffer.dimensions();
  array tensor;
  tensor.name = name;
  tensor.data = buffer.untyped_data();
  tensor.type = dtype_of(buffer.element_type());
  tensor.rank = static_cast<int>(extents.size());
  index_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0; stride *= extents[axis]) {
    if (axis >= tensor.extents.size()) continue;
    tensor.extents[axis] = extents[axis];
    tensor.strides[axis] = stride;
  }
  return tensor;
}
inline array to_array(char const* name, output& buffer) { return to_array(name, *buffer); }

/// True for an empty boolean array, which represents a missing one: an FFI call has a fixed number
/// of buffers, and booleans of operators have four axes.
inline bool is_missing(input const& buffer) {
  return buffer.element_type() == ffi::DataType::PRED && buffer.dimensions().size() == 1 &&
         buffer.element_count() == 0;
}
inline optional_array to_optional(char const* name, input const& buffer) {
  if (is_missing(buffer)) return std::nullopt;
  return to_array(name, buffer);
}
inline optional_array to_optional(char const* name, output& buffer) {
  return to_optional(name, *buffer);
}

}  // namespace slicesort_jax
