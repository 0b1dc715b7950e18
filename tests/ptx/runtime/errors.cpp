// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace ptx::runtime {

namespace {

thread_local cudaError_t last = cudaSuccess;
thread_local int host_functions = 0;
std::atomic<cudaError_t> sticky_error{cudaSuccess};

}  // namespace

void report(std::string const& line) { std::fprintf(stderr, "PTX machine: %s\n", line.c_str()); }
void abort_unsupported(std::string const& reason) {
  report(reason);
  std::_Exit(EXIT_FAILURE);  // no exit handler of the program may run
}

cudaError_t record_error(cudaError_t code) {
  if (code != cudaSuccess) last = code;
  return code;
}
cudaError_t last_error() { return last; }
void clear_last_error() { last = cudaSuccess; }

void set_device_error(cudaError_t code) {
  cudaError_t no_error = cudaSuccess;
  sticky_error.compare_exchange_strong(no_error, code);
}
cudaError_t device_error() { return sticky_error; }

host_function_scope::host_function_scope() { ++host_functions; }
host_function_scope::~host_function_scope() { --host_functions; }
bool in_host_function() { return host_functions > 0; }

}  // namespace ptx::runtime
