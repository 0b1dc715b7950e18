// SPDX-License-Identifier: Apache-2.0
// What a program that nvcc compiled calls before main, and what it asks of its kernels.
#include "../kernels.hpp"

#include "../errors.hpp"
#include "../settings.hpp"

#include <cuda_runtime_api.h>
#include <fatbinary_section.h>

#include <algorithm>
#include <cstddef>

using namespace ptx::runtime;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  void const* const data = static_cast<__fatBinC_Wrapper_t const*>(wrapper)->data;
  return reinterpret_cast<void**>(add_unit(data));
}
void __cudaRegisterFatBinaryEnd(void**) {}
// At the program's end.
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** unit, char const* host_function, char*, char const* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  add_kernel(host_function, reinterpret_cast<translation_unit*>(unit), name);
}
// Of a variable in device memory, a program learns nothing until it asks for it, by a call that
// is not known here.
void __cudaRegisterVar(void**, char*, char*, char const*, int, std::size_t, int, int) {}

cudaError_t cudaFuncSetAttribute(void const* function, cudaFuncAttribute attribute, int value) {
  return call([&] {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
      give_up("cudaFuncSetAttribute: an attribute that is not known here");
    found_kernel const found = find_kernel(function);
    if (found.code != cudaSuccess) return found.code;
    if (value < 0 ||
        static_cast<std::size_t>(value) + found.what->static_shared > asked().device.shared_opt_in)
      return cudaErrorInvalidValue;
    set_dynamic_shared_bytes(function, static_cast<std::size_t>(value));
    return cudaSuccess;
  });
}
// As far as threads and shared memory go: how many registers a kernel needs is not known here.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, void const* function, int threads, std::size_t shared_bytes, unsigned) {
  return call([&] {
    found_kernel const found = find_kernel(function);
    if (found.code != cudaSuccess) return found.code;
    if (threads <= 0) return cudaErrorInvalidValue;
    constexpr std::size_t multiprocessor_threads = 2048;
    std::size_t const shared = shared_bytes + found.what->static_shared;
    std::size_t most = multiprocessor_threads / static_cast<std::size_t>(threads);
    if (shared != 0) most = std::min(most, asked().device.shared_opt_in / shared);
    *blocks = static_cast<int>(most);
    return cudaSuccess;
  });
}
// Registers are what ptxas makes of a kernel: 0 here.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void const* function) {
  return call([&] {
    found_kernel const found = find_kernel(function);
    if (found.code != cudaSuccess) return found.code;
    *attributes = {};
    attributes->sharedSizeBytes = found.what->static_shared;
    attributes->maxThreadsPerBlock = static_cast<int>(
        found.what->max_threads != 0 ? found.what->max_threads : asked().device.max_threads);
    attributes->ptxVersion = found.target;
    attributes->binaryVersion = asked().device.compute_capability;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(found.dynamic_shared_bytes);
    return cudaSuccess;
  });
}

}  // extern "C"
