// SPDX-License-Identifier: Apache-2.0
// The only device, with the limits of SLICESORT_PTX_DEVICE.
#include "../errors.hpp"
#include "../memory.hpp"
#include "../settings.hpp"

#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

using namespace ptx::runtime;

extern "C" {

cudaError_t cudaGetDeviceCount(int* devices) {
  *devices = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  return call([&] {
    *device = 0;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int device) {
  return call([&] { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call([&] {
    if (device != 0) return cudaErrorInvalidDevice;
    ptx::device_limits const& limits = current_settings().device;
    switch (attribute) {
      case cudaDevAttrComputeCapabilityMajor:
        *value = limits.compute_capability / 10;
        break;
      case cudaDevAttrComputeCapabilityMinor:
        *value = limits.compute_capability % 10;
        break;
      case cudaDevAttrMultiProcessorCount:
        *value = limits.multiprocessors;
        break;
      case cudaDevAttrMaxThreadsPerBlock:
        *value = static_cast<int>(limits.max_threads);
        break;
      case cudaDevAttrWarpSize:
        *value = 32;
        break;
      case cudaDevAttrMaxGridDimX:
        *value = static_cast<int>(limits.grid_x);
        break;
      case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = static_cast<int>(limits.shared_default);
        break;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = static_cast<int>(limits.shared_opt_in);
        break;
      case cudaDevAttrL2CacheSize:
        *value = limits.l2_bytes;
        break;
      default:
        abort_unsupported("cudaDeviceGetAttribute: attribute " + std::to_string(attribute) +
                          " is not supported");
    }
    return cudaSuccess;
  });
}

// Unsupported properties are -1, which no device has.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call([&] {
    if (device != 0) return cudaErrorInvalidDevice;
    ptx::device_limits const& limits = current_settings().device;
    std::memset(static_cast<void*>(properties), 0xff, sizeof *properties);
    std::strcpy(properties->name, "PTX machine");
    properties->major = limits.compute_capability / 10;
    properties->minor = limits.compute_capability % 10;
    properties->multiProcessorCount = limits.multiprocessors;
    properties->maxThreadsPerBlock = static_cast<int>(limits.max_threads);
    properties->warpSize = 32;
    properties->sharedMemPerBlock = limits.shared_default;
    properties->sharedMemPerBlockOptin = limits.shared_opt_in;
    properties->l2CacheSize = limits.l2_bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

}  // extern "C"
