// SPDX-License-Identifier: Apache-2.0
// What the tests of the runtime launch, and how they hold a stream.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <thread>

// The architecture that the running kernel was compiled for: 900.
__global__ void write_architecture(int* to);
__global__ void add_one(int* to);
// At most 64 threads; writes how many there are.
__global__ void bounded(int* to);

// Holds a stream from `hold` until `release`, or for as long as it lives.
class gate {
 public:
  cudaError_t hold(cudaStream_t stream) {
    waiting_ = true;
    return cudaLaunchHostFunc(stream, &wait, this);
  }
  void release() { open_ = true; }
  ~gate() {
    release();
    while (waiting_) std::this_thread::yield();
  }

 private:
  static void CUDART_CB wait(void* self) {
    auto* const me = static_cast<gate*>(self);
    while (!me->open_) std::this_thread::yield();
    me->waiting_ = false;
  }
  std::atomic<bool> open_{false}, waiting_{false};
};

// Memory of the device for one number.
class device_int {
 public:
  explicit device_int(int value) {
    (void)cudaMalloc(reinterpret_cast<void**>(&data_), sizeof(int));
    (void)cudaMemcpy(data_, &value, sizeof(int), cudaMemcpyHostToDevice);
  }
  ~device_int() { (void)cudaFree(data_); }
  device_int(device_int const&) = delete;
  device_int& operator=(device_int const&) = delete;

  int* data() const { return data_; }
  // On a stream of its own: it waits for no other.
  int value() const {
    int result = 0;
    cudaStream_t own = nullptr;
    (void)cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    (void)cudaMemcpyAsync(&result, data_, sizeof(int), cudaMemcpyDeviceToHost, own);
    (void)cudaStreamDestroy(own);
    return result;
  }

 private:
  int* data_ = nullptr;
};
