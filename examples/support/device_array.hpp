// SPDX-License-Identifier: Apache-2.0
// Error checks and RAII device memory for the CUDA examples. The library accepts device memory of
// any origin.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

// Exits with status 77, which tests count as skipped, if there is no CUDA device.
inline void skip_without_device() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
  std::puts("no CUDA device: skipped");
  std::exit(77);
}

// [snippet scratch]
// Stream-ordered device memory. Freed memory stays valid for calls that were enqueued earlier.
class stream_bytes {
 public:
  explicit stream_bytes(cudaStream_t stream) : memory_(nullptr, {stream}) {}

  unsigned char* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  void resize(std::size_t size) {
    void* memory = nullptr;
    memory_.reset();
    if (size > 0) check(cudaMallocAsync(&memory, size, memory_.get_deleter().stream));
    memory_.reset(static_cast<unsigned char*>(memory));
    size_ = size;
  }

 private:
  struct stream_deleter {
    cudaStream_t stream;
    void operator()(void* memory) const { cudaFreeAsync(memory, stream); }
  };
  std::unique_ptr<unsigned char, stream_deleter> memory_;
  std::size_t size_ = 0;
};
// [/snippet scratch]

template <class T>
class device_array {
 public:
  explicit device_array(std::size_t size) : size_(size) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
  }
  device_array(device_array const&) = delete;
  device_array& operator=(device_array const&) = delete;
  ~device_array() { cudaFree(data_); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

  void upload(std::vector<T> const& host, cudaStream_t stream) const {
    check(cudaMemcpyAsync(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice, stream));
  }
  std::vector<T> download(cudaStream_t stream) const {  // waits for the stream
    std::vector<T> host(size_);
    check(cudaMemcpyAsync(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};
