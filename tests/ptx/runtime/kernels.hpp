// SPDX-License-Identifier: Apache-2.0
// The kernels that the program registered when it started, found by the host function that stands
// for each.
#pragma once

#include "../module/kernel.hpp"
#include "../module/module.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

namespace ptx::runtime {

// The kernels of a translation unit. Its text is looked for when one of them is first asked for.
class translation_unit {
 public:
  explicit translation_unit(void const* fat_binary) : fat_binary_(fat_binary) {}
  // Null when there is no code that the machine can run; it says why once. Throws fault when it
  // does not know something in the text.
  module* code();

 private:
  void const* fat_binary_;
  bool looked_ = false;
  std::unique_ptr<module> code_;
};

struct registered_kernel {
  translation_unit* unit;
  std::string name;                             // mangled
  std::size_t dynamic_shared_bytes = 48 << 10;  // cudaFuncAttributeMaxDynamicSharedMemorySize
};

translation_unit* add_unit(void const* fat_binary);
void add_kernel(void const* host_function, translation_unit* unit, char const* name);
void set_dynamic_shared_bytes(void const* host_function, std::size_t bytes);

// A kernel of the machine, and what its attributes allow.
struct found_kernel {
  cudaError_t code = cudaSuccess;  // why there is none
  kernel const* what = nullptr;
  int target = 0;
  std::size_t dynamic_shared_bytes = 0;
};
found_kernel find_kernel(void const* host_function);

}  // namespace ptx::runtime
