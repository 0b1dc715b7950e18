// SPDX-License-Identifier: Apache-2.0
// Streams: creation, synchronization and host functions.
#include "../streams.hpp"

using namespace ptx::runtime;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return call([&] {
    if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
    *handle = add_stream(flags == cudaStreamDefault ? ordering::blocking : ordering::independent);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* handle) {
  return cudaStreamCreateWithFlags(handle, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return call([&] { return remove_stream(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call_outside_capture([&] {
    stream_ptr const s = find_stream(handle);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    wait_for_stream(*s);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call_outside_capture([&] {
    stream_ptr const s = find_stream(handle);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    return is_idle(*s) ? cudaSuccess : cudaErrorNotReady;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return call_outside_capture([] {
    wait_for_device();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return call([&] {
    stream_ptr const s = find_stream(handle);
    if (s == nullptr) return cudaErrorInvalidResourceHandle;
    if (invalidate_capture(*s)) return cudaErrorStreamCaptureUnsupported;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return call([&] {
    return submit(handle, {cudaGraphNodeTypeHost, [function, data] {
                             host_function_scope const scope;
                             function(data);
                           }});
  });
}

}  // extern "C"
