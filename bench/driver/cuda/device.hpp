// SPDX-License-Identifier: Apache-2.0
// Device memory, events, and the stream of all measurements.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

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

template <class T>
class device_buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    enforce(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "cudaMalloc");
    // Overwrites results of earlier cases.
    enforce(cudaMemsetAsync(data_, 0xff, bytes(), stream()), "cudaMemset");
  }
  device_buffer(device_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  device_buffer& operator=(device_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~device_buffer() { (void)cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

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

// Flushes the L2 cache by reading other memory. Writing would leave dirty lines, which would be
// written back during the timed call. The kernel also hides launch latency: the host enqueues the
// timed call while it runs.
void flush_l2();

}  // namespace bench
