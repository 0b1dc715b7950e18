// SPDX-License-Identifier: Apache-2.0
// Errors of the runtime. A call returns a code; the thread stores the last code other than success.
// After a kernel has crashed, every call returns the same code. An unsupported call ends the
// process, so that it cannot be mistaken for a success.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace ptx::runtime {

// Prints a line to stderr.
void report(std::string const& line);

// Prints the reason and ends the process.
[[noreturn]] void abort_unsupported(std::string const& reason);

// Stores `code` as this thread's last error unless it is success. Returns it.
cudaError_t record_error(cudaError_t code);
cudaError_t last_error();
void clear_last_error();

// Makes every later call return `code`. Only the first error is stored.
void set_device_error(cudaError_t code);
// Returns the stored code; success while the device works.
cudaError_t device_error();

// Marks the execution of a host function, in which calls of the runtime are not permitted.
class host_function_scope {
 public:
  host_function_scope();
  ~host_function_scope();
  host_function_scope(host_function_scope const&) = delete;
  host_function_scope& operator=(host_function_scope const&) = delete;
};
bool in_host_function();

// Runs an entry point of the runtime; `function()` returns its code.
template <class F>
cudaError_t call(F const& function) {
  if (in_host_function()) return record_error(cudaErrorNotPermitted);
  if (device_error() != cudaSuccess) return device_error();
  cudaError_t const code = function();
  return device_error() != cudaSuccess ? device_error() : record_error(code);
}

}  // namespace ptx::runtime
