// SPDX-License-Identifier: Apache-2.0
// A call on the host.
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

/// The number of threads of every call. No attribute of the calls, so that a new number needs no
/// compilation; results do not depend on it.
inline std::atomic<unsigned> threads{std::thread::hardware_concurrency()};

/// What XLA knows of the place of a call: nothing that the host needs.
struct place {};

/// What the operators are called with (see ../../bindings/slicing_sort.hpp).
class call {
 public:
  ss::exec::host exec;
  ss::scratch memory;

  explicit call(place) { exec.threads = threads == 0 ? 1u : threads.load(); }

  /// Without `jax_enable_x64` JAX has no int64, so lengths may be int32. (A call has up to two.)
  optional_array lengths(char const* name, in const& buffer) {
    auto a = to_optional(name, buffer);
    if (!a) return a;
    if (a->type == bindings::dtype::i32) {
      auto const* const first = static_cast<std::int32_t const*>(a->data);
      lengths_.push_back(
          std::make_unique<std::vector<index_t>>(first, first + buffer.element_count()));
      a->data = lengths_.back()->data();
      a->type = bindings::dtype::i64;
    }
    return a;
  }
  static void require_rows(array const& perm, optional_array const& lengths) {
    bindings::require_rows(perm, lengths);
  }
  /// Two words, the lower one first.
  index_t seed(in const& buffer) {
    if (buffer.element_type() != ffi::DataType::U32 || buffer.element_count() != 2)
      bindings::refuse("seed must be two words of uint32");
    auto const* const words = static_cast<std::uint32_t const*>(buffer.untyped_data());
    return static_cast<index_t>(std::uint64_t{words[1]} << 32 | words[0]);
  }

 private:
  std::vector<std::unique_ptr<std::vector<index_t>>> lengths_;
};

}  // namespace slicesort_jax

template <>
struct xla::ffi::CtxDecoding<slicesort_jax::place> {
  using Type = slicesort_jax::place;
  static std::optional<Type> Decode(XLA_FFI_Api const*, XLA_FFI_ExecutionContext*,
                                    DiagnosticEngine&) {
    return Type{};
  }
};
