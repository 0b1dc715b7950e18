// SPDX-License-Identifier: Apache-2.0
/// Errors. Invalid arguments are reported before anything is written: by an exception or, with
/// `-fno-exceptions`, by a call of a handler that the program can replace.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

SLICESORT_TYPES_BEGIN

/// Kind of error that a `status` reports.
enum class error_kind { none, argument, workspace, cuda };

/// Result of an operator's checks: true if the call is accepted. `message` names the argument, its
/// value and the required value; it is empty if there is no error.
struct [[nodiscard]] status {
  error_kind kind = error_kind::none;
  char message[256] = {};
  int code = 0;  ///< the `cudaError_t`, if kind is `cuda`

  SLICESORT_ABI_TAG status() = default;
  SLICESORT_ABI_TAG explicit operator bool() const noexcept { return kind == error_kind::none; }
};

using verdict [[deprecated("slicesort: renamed to status")]] = status;

/// An invalid view, extent, stride, dtype, alias or option.
struct invalid_argument : std::invalid_argument {
  SLICESORT_ABI_TAG explicit invalid_argument(char const* message)
      : std::invalid_argument(message) {}
  SLICESORT_ABI_TAG explicit invalid_argument(std::string const& message)
      : std::invalid_argument(message) {}
  SLICESORT_ABI_TAG invalid_argument(invalid_argument const&) = default;
  SLICESORT_ABI_TAG invalid_argument& operator=(invalid_argument const&) = default;
};

/// A workspace that is smaller than `workspace_bytes` or overlaps a tensor of the call.
struct workspace_error : std::invalid_argument {
  SLICESORT_ABI_TAG explicit workspace_error(char const* message)
      : std::invalid_argument(message) {}
  SLICESORT_ABI_TAG explicit workspace_error(std::string const& message)
      : std::invalid_argument(message) {}
  SLICESORT_ABI_TAG workspace_error(workspace_error const&) = default;
  SLICESORT_ABI_TAG workspace_error& operator=(workspace_error const&) = default;
};

/// A failed CUDA runtime call; `code` is the `cudaError_t`.
struct cuda_error : std::runtime_error {
  int code;
  SLICESORT_ABI_TAG cuda_error(int status, char const* message)
      : std::runtime_error(message), code(status) {}
  SLICESORT_ABI_TAG cuda_error(cuda_error const&) = default;
  SLICESORT_ABI_TAG cuda_error& operator=(cuda_error const&) = default;
};

/// Function that is called instead of throwing in code built with `-fno-exceptions`. If it returns,
/// the program aborts.
using failure_handler = void (*)(status const&);

/// Failure handler of the whole program; null selects the default.
inline std::atomic<failure_handler> current_failure_handler{nullptr};

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

inline void print_and_abort(status const& failure) {
  std::fprintf(stderr, "slicesort: %s\n", failure.message);
  std::abort();
}
inline failure_handler handler_or_default(failure_handler handler) {
  return handler ? handler : &print_and_abort;
}

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// Replaces the failure handler of the program and returns the previous one. The default handler
/// prints the message to stderr and aborts.
inline failure_handler set_failure_handler(failure_handler handler) noexcept {
  return detail::handler_or_default(current_failure_handler.exchange(handler));
}

SLICESORT_OPERATORS_END

SLICESORT_DETAIL_BEGIN

// Throws the exception of a failed status, or calls the failure handler.
inline void enforce(status const& result) {
  if (result) return;
#if SLICESORT_EXCEPTIONS
  if (result.kind == error_kind::workspace) throw workspace_error(result.message);
  if (result.kind == error_kind::cuda) throw cuda_error(result.code, result.message);
  throw invalid_argument(result.message);
#else
  handler_or_default(current_failure_handler.load())(result);
  std::abort();
#endif
}

SLICESORT_DETAIL_END
