// SPDX-License-Identifier: Apache-2.0
// Wrappers around the CUDA runtime: errors, the device of a stream, a guard for the current device,
// and profiler ranges. They neither allocate nor synchronize, so they work during stream capture.
#pragma once

#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/error.hpp>
#include <slicesort/policies/tuning.hpp>

#include <cuda_runtime_api.h>

#if !defined(SLICESORT_NO_NVTX)
#  include <nvtx3/nvToolsExt.h>
#endif

#include <cstddef>
#include <cstdio>

SLICESORT_DETAIL_BEGIN

inline status cuda_failure(cudaError_t code, char const* call) {
  status failure;
  if (code == cudaSuccess) return failure;
  failure.kind = error_kind::cuda;
  failure.code = static_cast<int>(code);
  std::snprintf(failure.message, sizeof failure.message, "%s: %s (%s)", call,
                cudaGetErrorString(code), cudaGetErrorName(code));
  return failure;
}

// Reports an error of the runtime, and clears it there, so that it is reported only once.
inline void enforce_cuda(cudaError_t status, char const* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  enforce(cuda_failure(status, call));
}

// Sets `device` to the device of a stream, or to the current one: for a default stream, for a
// stream that is being captured (cudaStreamGetDevice would invalidate the capture), and for all
// streams before CUDA 12.8.
inline cudaError_t device_of(cudaStream_t stream, int& device) {
#if CUDART_VERSION >= 12080
  if (stream != nullptr && stream != cudaStreamLegacy && stream != cudaStreamPerThread) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t const status = cudaStreamIsCapturing(stream, &capture);
    if (status != cudaSuccess) return status;
    if (capture == cudaStreamCaptureStatusNone) return cudaStreamGetDevice(stream, &device);
  }
#endif
  (void)stream;
  return cudaGetDevice(&device);
}

inline cudaError_t device_info_of(int device, device_info& info) {
  int cc_major = 0, cc_minor = 0, sm_count = 0, shared_bytes = 0;
  cudaError_t status = cudaDeviceGetAttribute(&cc_major, cudaDevAttrComputeCapabilityMajor, device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&cc_minor, cudaDevAttrComputeCapabilityMinor, device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (status == cudaSuccess)
    info = {10 * cc_major + cc_minor, sm_count, static_cast<std::size_t>(shared_bytes)};
  return status;
}

// Makes a device current until the end of the scope.
class device_guard {
 public:
  explicit device_guard(int device) {
    enforce_cuda(cudaGetDevice(&previous_), "cudaGetDevice");
    if (device == previous_) return;
    enforce_cuda(cudaSetDevice(device), "cudaSetDevice");
    restores_ = true;
  }
  ~device_guard() {
    if (restores_) (void)cudaSetDevice(previous_);
  }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;

 private:
  int previous_ = 0;
  bool restores_ = false;
};

// Named range in the profiler's timeline (NVTX, header-only, negligible cost without a profiler).
// Disabled by -DSLICESORT_NO_NVTX.
class profiler_range {
 public:
#if defined(SLICESORT_NO_NVTX)
  explicit profiler_range(char const*) {}
#else
  explicit profiler_range(char const* name) { nvtxRangePushA(name); }
  ~profiler_range() { nvtxRangePop(); }
#endif
  profiler_range(profiler_range const&) = delete;
  profiler_range& operator=(profiler_range const&) = delete;
};

SLICESORT_DETAIL_END
