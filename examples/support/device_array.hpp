// SPDX-License-Identifier: Apache-2.0
// The little that the CUDA examples need of CUDA's own: errors, and memory that frees itself. Any
// other way to come by device memory will do.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

// The exit status that tells the tests "skipped" is 77.
inline void skip_without_device() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
  std::puts("no CUDA device: skipped");
  std::exit(77);
}

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

  void upload(std::vector<T> const& from, cudaStream_t stream) const {
    check(cudaMemcpyAsync(data_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice, stream));
  }
  std::vector<T> download(cudaStream_t stream) const {  // waits for the stream
    std::vector<T> to(size_);
    check(cudaMemcpyAsync(to.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    return to;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};
