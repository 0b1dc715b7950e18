// SPDX-License-Identifier: Apache-2.0
// torch's tensors as `bindings::array`, and new ones from torch's allocator. LibTorch's stable ABI
// alone, so that one binary serves torch 2.10 and everything after it.
#pragma once

#include "../../bindings/array.hpp"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef STABLE_TORCH_ERROR_CODE_CHECK  // newer than torch 2.10; it keeps an error's reason
#  define STABLE_TORCH_ERROR_CODE_CHECK TORCH_ERROR_CODE_CHECK
#endif

namespace adapter {

using bindings::array;
using bindings::optional_array;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using optional_tensor = std::optional<Tensor>;

inline bindings::dtype dtype_of(Tensor const& t) {
  switch (t.scalar_type()) {
    case ScalarType::Half:
      return bindings::dtype::f16;
    case ScalarType::BFloat16:
      return bindings::dtype::bf16;
    case ScalarType::Float:
      return bindings::dtype::f32;
    case ScalarType::Double:
      return bindings::dtype::f64;
    case ScalarType::Byte:
      return bindings::dtype::u8;
    case ScalarType::UInt16:
      return bindings::dtype::u16;
    case ScalarType::Int:
      return bindings::dtype::i32;
    case ScalarType::UInt32:
      return bindings::dtype::u32;
    case ScalarType::Long:
      return bindings::dtype::i64;
    default:
      return bindings::dtype::other;
  }
}
inline ScalarType scalar_type_of(bindings::dtype type) {
  switch (type) {
    case bindings::dtype::u8:
      return ScalarType::Byte;
    case bindings::dtype::u16:
      return ScalarType::UInt16;
    default:
      return ScalarType::Int;
  }
}

/// The tensor as an array of its own strides. `name` must be a literal.
inline array array_of(Tensor const& t, char const* name) {
  auto const sizes = t.sizes(), strides = t.strides();
  if (sizes.size() > 4) bindings::refuse(std::string(name) + " has more than four axes");
  array a{name, t.data_ptr(), dtype_of(t), static_cast<int>(sizes.size())};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    a.extents[i] = sizes[i];
    a.strides[i] = strides[i];
  }
  return a;
}
inline optional_array array_of(optional_tensor const& t, char const* name) {
  if (t) return array_of(*t, name);
  return std::nullopt;
}

/// An operator as torch's dispatcher calls it. What it throws becomes a RuntimeError with the same
/// sentence; left alone, a ValueError in some versions of torch.
template <auto Operator>
void boxed(StableIValue* stack, std::uint64_t arguments, std::uint64_t results) {
  try {
    TORCH_BOX(Operator)(stack, arguments, results);
  } catch (std::invalid_argument const& error) {
    throw std::runtime_error(error.what());
  }
}

/// Calls torch's allocator, whose own error says no more than that a call failed.
template <class Sizes, class F>
Tensor allocated(Sizes const& sizes, F const& allocate) {
  try {
    return allocate();
  } catch (std::exception const& error) {
    std::string const reason = error.what();
    std::string shape;
    for (int64_t const size : sizes) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    bindings::refuse("torch has no memory for a tensor of [" + shape +
                     "]: " + reason.substr(0, reason.find(" (originally from")));
  }
}

/// A tensor of the shape and device of `like`, and of its strides where they are dense, as
/// `torch.empty_like` makes it.
inline Tensor make_like(Tensor const& like, std::optional<ScalarType> type = std::nullopt) {
  using torch::stable::detail::from;
  std::array<StableIValue, 6> stack{from(like),         from(type),         from(std::nullopt),
                                    from(std::nullopt), from(std::nullopt), from(std::nullopt)};
  return allocated(like.sizes(), [&] {
    STABLE_TORCH_ERROR_CODE_CHECK(
        torch_call_dispatcher("aten::empty_like", "", stack.data(), TORCH_ABI_VERSION));
    return torch::stable::detail::to<Tensor>(stack[0]);
  });
}
inline Tensor make(Tensor const& like, std::vector<int64_t> const& sizes,
                   std::optional<ScalarType> type = std::nullopt) {
  return allocated(sizes, [&] { return torch::stable::new_empty(like, sizes, type); });
}

/// An extent of a tensor that may have the wrong rank, which the call itself refuses.
inline int64_t extent(Tensor const& t, int64_t axis) { return axis < t.dim() ? t.size(axis) : 0; }

/// A tensor for the output of attention: as q lies, where values have as many channels, so that the
/// heads of [batch, length, heads * channels] come back as they were.
inline Tensor make_output(Tensor const& q, Tensor const& v) {
  if (extent(q, 3) == extent(v, 3)) return make_like(q);
  return make(q, {extent(q, 0), extent(q, 1), extent(q, 2), extent(v, 3)});
}

/// The dtype of saved rows: 16 bits while they hold every row.
inline ScalarType index_type(int64_t rows) {
  return rows <= 65536 ? ScalarType::UInt16 : ScalarType::Int;
}
/// The dtype that sums over tensors like this one are formed in.
inline ScalarType accumulator_type(Tensor const& t) {
  return t.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

}  // namespace adapter
