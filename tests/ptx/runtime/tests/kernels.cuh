// SPDX-License-Identifier: Apache-2.0
// Kernels and helpers of the runtime's tests.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <thread>

// Writes __CUDA_ARCH__, for example 900.
__global__ void write_architecture(int* result);
__global__ void add_one(int* result);
// Writes the number of threads, at most 64.
__global__ void write_block_size(int* result);

// Blocks a stream from hold() until release(), or until the destructor.
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
  static void CUDART_CB wait(void* context) {
    auto* const waiting_gate = static_cast<gate*>(context);
    while (!waiting_gate->open_) std::this_thread::yield();
    waiting_gate->waiting_ = false;
  }
  std::atomic<bool> open_{false}, waiting_{false};
};

// An int in device memory.
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
  // Reads through a new stream, which waits for no other.
  int value() const {
    int result = 0;
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    (void)cudaMemcpyAsync(&result, data_, sizeof(int), cudaMemcpyDeviceToHost, stream);
    (void)cudaStreamDestroy(stream);
    return result;
  }

 private:
  int* data_ = nullptr;
};
