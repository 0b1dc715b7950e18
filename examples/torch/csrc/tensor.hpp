// SPDX-License-Identifier: Apache-2.0
// Converts torch tensors to `bindings::array` and allocates new ones. Uses LibTorch's stable ABI
// only, so that one binary works with torch 2.10 and newer.
#pragma once

#include "../../bindings/array.hpp"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#if __has_include(<sys/mman.h>)
#  include <sys/mman.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef STABLE_TORCH_ERROR_CODE_CHECK  // added after torch 2.10; preserves the error message
#  define STABLE_TORCH_ERROR_CODE_CHECK TORCH_ERROR_CODE_CHECK
#endif

namespace adapter {

using bindings::array;
using bindings::optional_array;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using optional_tensor = std::optional<Tensor>;

inline bindings::dtype dtype_of(Tensor const& tensor) {
  switch (tensor.scalar_type()) {
    case ScalarType::Bool:
      return bindings::dtype::boolean;
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

/// Returns the tensor as an array. `name` must be a literal.
inline array array_of(Tensor const& tensor, char const* name) {
  auto const sizes = tensor.sizes(), strides = tensor.strides();
  if (sizes.size() > 4) bindings::throw_invalid(std::string(name) + " has more than four axes");
  array result{name, tensor.data_ptr(), dtype_of(tensor), static_cast<int>(sizes.size())};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    result.extents[i] = sizes[i];
    result.strides[i] = strides[i];
  }
  return result;
}
inline optional_array array_of(optional_tensor const& tensor, char const* name) {
  if (tensor) return array_of(*tensor, name);
  return std::nullopt;
}

/// Adapts an operator to torch's dispatcher. Rethrows its exceptions as runtime_error, since some
/// versions of torch map invalid_argument to ValueError and some do not.
template <auto Operator>
void boxed(StableIValue* stack, std::uint64_t arguments, std::uint64_t results) {
  try {
    TORCH_BOX(Operator)(stack, arguments, results);
  } catch (std::invalid_argument const& error) {
    throw std::runtime_error(error.what());
  }
}

/// Calls torch's allocator and adds the tensor's shape to its error message.
template <class Sizes, class F>
Tensor call_allocator(Sizes const& sizes, F const& allocate) {
  try {
    return allocate();
  } catch (std::exception const& error) {
    std::string const reason = error.what();
    std::string shape;
    for (int64_t const extent : sizes)
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    bindings::throw_invalid("torch has no memory for a tensor of [" + shape +
                            "]: " + reason.substr(0, reason.find(" (originally from")));
  }
}

/// Asks the system for large pages for a new tensor, since first writes to small pages can take as
/// long as a sort.
inline Tensor with_large_pages(Tensor tensor) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  if (tensor.is_cuda()) return tensor;
  int64_t size = 0;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_storage_size(tensor.get(), &size));
  auto const begin = reinterpret_cast<std::uintptr_t>(tensor.data_ptr()),
             first = (begin + page - 1) / page * page,
             last = (begin + static_cast<std::uintptr_t>(size)) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
  return tensor;
}

/// Allocates a tensor like `torch.empty_like`: same shape and device, and same strides if dense.
inline Tensor make_like(Tensor const& like, std::optional<ScalarType> type = std::nullopt) {
  using torch::stable::detail::from;
  std::array<StableIValue, 6> stack{from(like),         from(type),         from(std::nullopt),
                                    from(std::nullopt), from(std::nullopt), from(std::nullopt)};
  return call_allocator(like.sizes(), [&] {
    STABLE_TORCH_ERROR_CODE_CHECK(
        torch_call_dispatcher("aten::empty_like", "", stack.data(), TORCH_ABI_VERSION));
    return with_large_pages(torch::stable::detail::to<Tensor>(stack[0]));
  });
}
inline Tensor make_tensor(Tensor const& like, std::vector<int64_t> const& sizes,
                          std::optional<ScalarType> type = std::nullopt) {
  return call_allocator(
      sizes, [&] { return with_large_pages(torch::stable::new_empty(like, sizes, type)); });
}

/// Returns an extent, or 0 if the rank is too low, which the call reports later.
inline int64_t extent(Tensor const& tensor, int64_t axis) {
  return axis < tensor.dim() ? tensor.size(axis) : 0;
}

/// Allocates the output of attention. It has the strides of q if v has as many channels, so that
/// heads split from [batch, length, heads * channels] keep that layout.
inline Tensor make_output(Tensor const& q, Tensor const& v) {
  if (extent(q, 3) == extent(v, 3)) return make_like(q);
  return make_tensor(q, {extent(q, 0), extent(q, 1), extent(q, 2), extent(v, 3)});
}

/// Returns the dtype of saved row indices: 16 bits if they can index every row.
inline ScalarType index_type(int64_t rows) {
  return rows <= 65536 ? ScalarType::UInt16 : ScalarType::Int;
}
/// Returns the dtype of the accumulator of an operator on `tensor`.
inline ScalarType accumulator_type(Tensor const& tensor) {
  return tensor.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

}  // namespace adapter
