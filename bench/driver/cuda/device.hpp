// SPDX-License-Identifier: Apache-2.0
// Device memory, events, and the stream of all measurements.
#pragma once

#include "driver/tensors.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace bench {

struct no_device_memory : std::bad_alloc {
  char const* what() const noexcept override { return "out of memory on the GPU"; }
};

inline void enforce(cudaError_t status, char const* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) throw no_device_memory();
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

inline cudaStream_t stream() {
  static cudaStream_t const instance = [] {
    cudaStream_t created = nullptr;
    enforce(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), "cudaStreamCreate");
    return created;
  }();
  return instance;
}

// Device memory, filled with ones to overwrite results of earlier cases.
struct device_memory {
  static void* allocate(std::size_t bytes) {
    void* data = nullptr;
    enforce(cudaMalloc(&data, bytes), "cudaMalloc");
    enforce(cudaMemsetAsync(data, 0xff, bytes, stream()), "cudaMemset");
    return data;
  }
  static void free(void* data) { (void)cudaFree(data); }
};
template <class T>
using device_buffer = owned_array<T, device_memory>;

class event {
 public:
  event() { enforce(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~event() { (void)cudaEventDestroy(event_); }
  event(event const&) = delete;
  event& operator=(event const&) = delete;
  void record() const { enforce(cudaEventRecord(event_, stream()), "cudaEventRecord"); }
  double seconds_since(event const& start) const {
    float milliseconds = 0.0f;
    enforce(cudaEventSynchronize(event_), "cudaEventSynchronize");
    enforce(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Flushes the L2 cache by reading other memory. Writing would leave dirty lines, to be written back
// during the timed call. The reading kernel also hides launch latency: the host enqueues the timed
// call while it runs.
void flush_l2();

}  // namespace bench
