// SPDX-License-Identifier: Apache-2.0
// The host backend in a file that a CUDA compiler compiles, with CUDA's 16-bit types. Runs without
// a GPU.
#include "../core/half_types.hpp"
#include "all_operators.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <string>

int main() {
  slicesort::exec::cuda const named{nullptr};  // the policy can be named without a GPU
  unsigned const one_thread = all_operators::fingerprint(),
                 three_threads = all_operators::fingerprint({3});
  if (one_thread != three_threads || named.stream != nullptr)
    return std::puts("threads changed the result"), 1;
  std::string const differing = support::differing_results<__half, slicesort::float16>() +
                                support::differing_results<__nv_bfloat16, slicesort::bfloat16>();
  if (!differing.empty())
    return std::printf("CUDA's 16-bit types differ in%s\n", differing.c_str()), 1;
  std::printf("%08x\n", one_thread);
}
