// SPDX-License-Identifier: Apache-2.0
// Names and descriptions of error codes, and the last error of the thread.
#include "../errors.hpp"

using namespace ptx::runtime;

namespace {

struct named_error {
  cudaError_t code;
  char const *name, *text;
};
// The errors that this runtime returns.
#define SLICESORT_PTX_ERROR(code, text) \
  { code, #code, text }
constexpr named_error errors[] = {
    SLICESORT_PTX_ERROR(cudaSuccess, "no error"),
    SLICESORT_PTX_ERROR(cudaErrorInvalidValue, "invalid argument"),
    SLICESORT_PTX_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    SLICESORT_PTX_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SLICESORT_PTX_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    SLICESORT_PTX_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    SLICESORT_PTX_ERROR(cudaErrorNoKernelImageForDevice,
                        "no kernel image is available for execution on the device"),
    SLICESORT_PTX_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    SLICESORT_PTX_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    SLICESORT_PTX_ERROR(cudaErrorIllegalState,
                        "the operation cannot be performed in the present state"),
    SLICESORT_PTX_ERROR(cudaErrorNotReady, "device not ready"),
    SLICESORT_PTX_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SLICESORT_PTX_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    SLICESORT_PTX_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    SLICESORT_PTX_ERROR(cudaErrorNotSupported, "operation not supported"),
    SLICESORT_PTX_ERROR(cudaErrorStreamCaptureUnsupported,
                        "operation not permitted when stream is capturing"),
    SLICESORT_PTX_ERROR(cudaErrorStreamCaptureInvalidated,
                        "operation failed due to a previous error during capture"),
    SLICESORT_PTX_ERROR(
        cudaErrorStreamCaptureImplicit,
        "operation would make the legacy stream depend on a capturing blocking stream"),
    SLICESORT_PTX_ERROR(cudaErrorStreamCaptureWrongThread,
                        "attempt to terminate a thread-local capture sequence from another thread"),
    SLICESORT_PTX_ERROR(cudaErrorInvalidClusterSize, "invalid cluster size")};

named_error const* find(cudaError_t code) {
  for (named_error const& e : errors)
    if (e.code == code) return &e;
  return nullptr;
}

}  // namespace

extern "C" {

char const* cudaGetErrorName(cudaError_t code) {
  named_error const* const e = find(code);
  return e == nullptr ? "cudaError that the PTX machine has no name for" : e->name;
}
char const* cudaGetErrorString(cudaError_t code) {
  named_error const* const e = find(code);
  return e == nullptr ? "an error that the PTX machine has no words for" : e->text;
}
cudaError_t cudaPeekAtLastError() {
  return device_error() != cudaSuccess ? device_error() : last_error();
}
cudaError_t cudaGetLastError() {
  cudaError_t const code = cudaPeekAtLastError();
  clear_last_error();
  return code;
}

}  // extern "C"
