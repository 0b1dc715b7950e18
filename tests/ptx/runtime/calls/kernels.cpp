// SPDX-License-Identifier: Apache-2.0
// Registration of kernels before main, as nvcc generates it, and queries of their attributes.
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
// Called at the program's end.
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** unit, char const* host_function, char*, char const* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  add_kernel(host_function, reinterpret_cast<translation_unit*>(unit), name);
}
// Ignored: the calls that access a device variable are not supported.
void __cudaRegisterVar(void**, char*, char*, char const*, int, std::size_t, int, int) {}

cudaError_t cudaFuncSetAttribute(void const* function, cudaFuncAttribute attribute, int value) {
  return call([&] {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
      abort_unsupported("cudaFuncSetAttribute: an unsupported attribute");
    found_kernel const found = find_kernel(function);
    if (found.code != cudaSuccess) return found.code;
    if (value < 0 || static_cast<std::size_t>(value) + found.kernel->static_shared >
                         current_settings().device.shared_opt_in)
      return cudaErrorInvalidValue;
    set_dynamic_shared_bytes(function, static_cast<std::size_t>(value));
    return cudaSuccess;
  });
}
// Considers threads and shared memory only, since the number of registers is unknown.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, void const* function, int threads, std::size_t shared_bytes, unsigned) {
  return call([&] {
    found_kernel const found = find_kernel(function);
    if (found.code != cudaSuccess) return found.code;
    if (threads <= 0) return cudaErrorInvalidValue;
    constexpr std::size_t multiprocessor_threads = 2048;
    std::size_t const shared = shared_bytes + found.kernel->static_shared;
    std::size_t blocks_per_multiprocessor =
        multiprocessor_threads / static_cast<std::size_t>(threads);
    if (shared != 0)
      blocks_per_multiprocessor =
          std::min(blocks_per_multiprocessor, current_settings().device.shared_opt_in / shared);
    *blocks = static_cast<int>(blocks_per_multiprocessor);
    return cudaSuccess;
  });
}
// The number of registers is 0, since ptxas has not run.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void const* function) {
  return call([&] {
    found_kernel const found = find_kernel(function);
    if (found.code != cudaSuccess) return found.code;
    *attributes = {};
    attributes->sharedSizeBytes = found.kernel->static_shared;
    attributes->maxThreadsPerBlock =
        static_cast<int>(found.kernel->max_threads != 0 ? found.kernel->max_threads
                                                        : current_settings().device.max_threads);
    attributes->ptxVersion = found.target;
    attributes->binaryVersion = current_settings().device.compute_capability;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(found.dynamic_shared_bytes);
    return cudaSuccess;
  });
}

}  // extern "C"
