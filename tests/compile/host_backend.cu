// SPDX-License-Identifier: Apache-2.0
// The host backend in a file that a CUDA compiler reads, with the 16-bit types of CUDA too. Runs
// without a GPU.
#include "../core/half_types.hpp"
#include "all_operators.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <string>

int main() {
  slicesort::exec::cuda const named{nullptr};  // naming the policy is fine everywhere
  unsigned const one = all_operators::fingerprint(), three = all_operators::fingerprint({3});
  if (one != three || named.stream != nullptr) return std::puts("threads changed the result"), 1;
  std::string const wrong = support::same_bits<__half, slicesort::float16>() +
                            support::same_bits<__nv_bfloat16, slicesort::bfloat16>();
  if (!wrong.empty()) return std::printf("CUDA's 16-bit types differ in%s\n", wrong.c_str()), 1;
  std::printf("%08x\n", one);
}
