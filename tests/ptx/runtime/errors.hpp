// SPDX-License-Identifier: Apache-2.0
// What calls of the runtime answer: a code, which the thread remembers until somebody asks; the
// same code for good once a kernel has crashed; and the end of the process for what is not known
// here, since a program must not believe that it was done.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace ptx::runtime {

// A line of ours on the standard error output.
void say(std::string const& line);

// Says `why`, and ends the process.
[[noreturn]] void give_up(std::string const& why);

// Makes `code` this thread's last error, unless it is success. Returns it.
cudaError_t remember(cudaError_t code);
cudaError_t last_error();
void forget_last_error();

// After this every call returns `code`. The first one counts.
void lose_device(cudaError_t code);
// That code; success while the device works.
cudaError_t lost();

// A function that cudaLaunchHostFunc was given may call no other function of the runtime.
class host_function_scope {
 public:
  host_function_scope();
  ~host_function_scope();
  host_function_scope(host_function_scope const&) = delete;
  host_function_scope& operator=(host_function_scope const&) = delete;
};
bool in_host_function();

// An entry point of the runtime: `body()` returns its code.
template <class F>
cudaError_t call(F const& body) {
  if (in_host_function()) return remember(cudaErrorNotPermitted);
  if (lost() != cudaSuccess) return lost();
  cudaError_t const code = body();
  return lost() != cudaSuccess ? lost() : remember(code);
}

}  // namespace ptx::runtime
