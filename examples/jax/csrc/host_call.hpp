// SPDX-License-Identifier: Apache-2.0
// Execution policy and memory of a call on the host.
#pragma once

#include "../../bindings/slicing_sort.hpp"

#include "arrays.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace slicesort_jax {

/// Threads per call. A global rather than an attribute, so that a change does not recompile.
inline std::atomic<unsigned> thread_count{std::thread::hardware_concurrency()};

/// XLA's execution context of a call; empty on the host.
struct xla_context {};

/// Implements the `Call` that ../../bindings/slicing_sort.hpp describes.
class xla_call {
 public:
  ss::exec::host exec;
  ss::scratch memory;

  explicit xla_call(xla_context) { exec.threads = thread_count == 0 ? 1u : thread_count.load(); }

  /// Returns the lengths as int64. Without `jax_enable_x64`, JAX has only int32.
  optional_array lengths(char const* name, input const& buffer) {
    auto tensor = to_optional(name, buffer);
    if (!tensor) return tensor;
    if (tensor->type == bindings::dtype::i32) {
      auto const* const first = static_cast<std::int32_t const*>(tensor->data);
      lengths_.push_back(
          std::make_unique<std::vector<index_t>>(first, first + buffer.element_count()));
      tensor->data = lengths_.back()->data();
      tensor->type = bindings::dtype::i64;
    }
    return tensor;
  }
  static void require_rows(array const& perm, optional_array const& lengths) {
    bindings::require_rows(perm, lengths);
  }
  /// Reads a seed of two 32-bit words, low word first.
  index_t seed(input const& buffer) {
    if (buffer.element_type() != ffi::DataType::U32 || buffer.element_count() != 2)
      bindings::throw_invalid("seed must be two words of uint32");
    auto const* const words = static_cast<std::uint32_t const*>(buffer.untyped_data());
    return static_cast<index_t>(std::uint64_t{words[1]} << 32 | words[0]);
  }

 private:
  std::vector<std::unique_ptr<std::vector<index_t>>> lengths_;
};

}  // namespace slicesort_jax

template <>
struct xla::ffi::CtxDecoding<slicesort_jax::xla_context> {
  using Type = slicesort_jax::xla_context;
  static std::optional<Type> Decode(XLA_FFI_Api const*, XLA_FFI_ExecutionContext*,
                                    DiagnosticEngine&) {
    return Type{};
  }
};
