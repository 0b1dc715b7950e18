// SPDX-License-Identifier: Apache-2.0
// Device memory, the stream that everything is measured on, and its events.
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
  static cudaStream_t const one = [] {
    cudaStream_t made = nullptr;
    enforce(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreate");
    return made;
  }();
  return one;
}

template <class T>
class device_buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    enforce(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "cudaMalloc");
    // So that no result of an earlier case can pass for one of this case.
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

// A point of the stream in time.
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

// Fills the L2 cache with memory that no case uses. It only reads: what it wrote would still lie in
// the cache, and go back to memory while the next call is timed. The device is busy with it while
// the host enqueues the call, so events around the call measure its work and not the latency of its
// launches.
void flush_l2();

}  // namespace bench
