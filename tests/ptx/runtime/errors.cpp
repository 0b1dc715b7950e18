// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace ptx::runtime {

namespace {

thread_local cudaError_t last = cudaSuccess;
thread_local int host_functions = 0;
std::atomic<cudaError_t> gone{cudaSuccess};

}  // namespace

void say(std::string const& line) { std::fprintf(stderr, "PTX machine: %s\n", line.c_str()); }
void give_up(std::string const& why) {
  say(why);
  std::_Exit(EXIT_FAILURE);  // no handler of the program makes another death of it
}

cudaError_t remember(cudaError_t code) {
  if (code != cudaSuccess) last = code;
  return code;
}
cudaError_t last_error() { return last; }
void forget_last_error() { last = cudaSuccess; }

void lose_device(cudaError_t code) {
  cudaError_t works = cudaSuccess;
  gone.compare_exchange_strong(works, code);
}
cudaError_t lost() { return gone; }

host_function_scope::host_function_scope() { ++host_functions; }
host_function_scope::~host_function_scope() { --host_functions; }
bool in_host_function() { return host_functions > 0; }

}  // namespace ptx::runtime
