// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace ptx::runtime {

namespace {

thread_local cudaError_t last_code = cudaSuccess;
thread_local int host_function_depth = 0;
std::atomic<cudaError_t> sticky_error{cudaSuccess};

}  // namespace

void report(std::string const& line) { std::fprintf(stderr, "PTX machine: %s\n", line.c_str()); }
void abort_unsupported(std::string const& reason) {
  report(reason);
  std::_Exit(EXIT_FAILURE);  // no exit handler of the program may run
}

cudaError_t record_error(cudaError_t code) {
  if (code != cudaSuccess) last_code = code;
  return code;
}
cudaError_t last_error() { return last_code; }
void clear_last_error() { last_code = cudaSuccess; }

void set_device_error(cudaError_t code) {
  cudaError_t expected_code = cudaSuccess;
  sticky_error.compare_exchange_strong(expected_code, code);
}
cudaError_t device_error() { return sticky_error; }

host_function_scope::host_function_scope() { ++host_function_depth; }
host_function_scope::~host_function_scope() { --host_function_depth; }
bool in_host_function() { return host_function_depth > 0; }

}  // namespace ptx::runtime
