// SPDX-License-Identifier: Apache-2.0
// Registry of the program's kernels, by their host functions. The program fills it at its start.
#pragma once

#include "../module/kernel.hpp"
#include "../module/module.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

namespace ptx::runtime {

// The kernels of a translation unit. Their PTX is loaded at the first use.
class translation_unit {
 public:
  explicit translation_unit(void const* fat_binary) : fat_binary_(fat_binary) {}
  // Returns null if there is no PTX for the device, and reports the reason once. Throws fault for
  // unsupported PTX.
  module* load_module();

 private:
  void const* fat_binary_;
  bool searched_ = false;
  std::unique_ptr<module> module_;
};

struct registered_kernel {
  translation_unit* unit;
  std::string name;                             // mangled
  std::size_t dynamic_shared_bytes = 48 << 10;  // cudaFuncAttributeMaxDynamicSharedMemorySize
};

translation_unit* add_unit(void const* fat_binary);
void add_kernel(void const* host_function, translation_unit* unit, char const* name);
void set_dynamic_shared_bytes(void const* host_function, std::size_t bytes);

// A registered kernel with its attributes.
struct found_kernel {
  cudaError_t code = cudaSuccess;  // the error if there is none
  ptx::kernel const* kernel = nullptr;
  int target = 0;
  std::size_t dynamic_shared_bytes = 0;
};
found_kernel find_kernel(void const* host_function);

}  // namespace ptx::runtime
