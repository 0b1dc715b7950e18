// SPDX-License-Identifier: Apache-2.0
// Memory and streams of the device for tests written in plain C++. Every call of the runtime is
// checked.
#pragma once

#include "support/buffers.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace support {

inline void check_cuda(cudaError_t status, char const* call) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}
#define SLICESORT_TEST_CUDA_CALL(call) ::support::check_cuda((call), #call)

// Why no device can be used, "" if one can.
std::string no_device();

class device_stream {
 public:
  // Non-blocking: nothing orders it with the default stream but a mistake.
  device_stream() {
    SLICESORT_TEST_CUDA_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~device_stream() { (void)cudaStreamDestroy(stream_); }
  device_stream(device_stream const&) = delete;
  device_stream& operator=(device_stream const&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { SLICESORT_TEST_CUDA_CALL(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Red zones hide small overruns from compute-sanitizer: it gets none (SLICESORT_TEST_RED_ZONES=0).
inline std::size_t zone_bytes() {
  static char const* const wanted = std::getenv("SLICESORT_TEST_RED_ZONES");
  return wanted != nullptr && wanted[0] == '0' ? 0 : 4096;
}

// Bytes on the device between red zones, `shift` past an aligned address.
class device_bytes {
 public:
  explicit device_bytes(std::size_t bytes, unsigned char fill = 0xcb, std::size_t shift = 0)
      : bytes_(bytes), shift_(shift) {
    SLICESORT_TEST_CUDA_CALL(cudaMalloc(&memory_, bytes + shift + 2 * zone_bytes()));
    SLICESORT_TEST_CUDA_CALL(cudaMemset(memory_, zone, bytes + shift + 2 * zone_bytes()));
    set(fill);
  }
  ~device_bytes() { (void)cudaFree(memory_); }
  device_bytes(device_bytes const&) = delete;
  device_bytes& operator=(device_bytes const&) = delete;

  void* data() const { return static_cast<unsigned char*>(memory_) + zone_bytes() + shift_; }
  std::size_t size() const { return bytes_; }

  // These wait for all streams.
  void set(unsigned char fill) {
    SLICESORT_TEST_CUDA_CALL(cudaMemset(data(), fill, bytes_));
    SLICESORT_TEST_CUDA_CALL(cudaDeviceSynchronize());
  }
  void upload(void const* from) {
    SLICESORT_TEST_CUDA_CALL(cudaMemcpy(data(), from, bytes_, cudaMemcpyHostToDevice));
    SLICESORT_TEST_CUDA_CALL(cudaDeviceSynchronize());
  }
  std::vector<unsigned char> download() const { return fetched(data(), bytes_); }
  bool red_zones_intact() const {
    auto const before = fetched(memory_, zone_bytes() + shift_);
    auto const after = fetched(static_cast<unsigned char*>(data()) + bytes_, zone_bytes());
    for (auto const* side : {&before, &after})
      for (unsigned char byte : *side)
        if (byte != zone) return false;
    return true;
  }

 private:
  static std::vector<unsigned char> fetched(void const* from, std::size_t bytes) {
    std::vector<unsigned char> host(bytes);
    SLICESORT_TEST_CUDA_CALL(cudaDeviceSynchronize());
    SLICESORT_TEST_CUDA_CALL(cudaMemcpy(host.data(), from, bytes, cudaMemcpyDeviceToHost));
    return host;
  }
  static constexpr unsigned char zone = 0x5a;

  void* memory_ = nullptr;
  std::size_t bytes_, shift_;
};

template <class T>
class device_tensor {
 public:
  explicit device_tensor(extents3 e) : extents_(e), memory_(bytes_of(e)) {}
  explicit device_tensor(tensor<T> const& host) : device_tensor(host.extents()) { upload(host); }

  extents3 extents() const { return extents_; }
  tensor3<T> view() const { return {static_cast<T*>(memory_.data()), extents_}; }
  device_bytes& memory() { return memory_; }
  device_bytes const& memory() const { return memory_; }
  void upload(tensor<T> const& host) { memory_.upload(host.elements().data()); }
  tensor<T> download() const {
    tensor<T> host(extents_);
    auto const bytes = memory_.download();
    if (!bytes.empty())
      std::memcpy(static_cast<void*>(host.elements().data()), bytes.data(), bytes.size());
    return host;
  }

 private:
  static std::size_t bytes_of(extents3 e) { return static_cast<std::size_t>(e.size()) * sizeof(T); }

  extents3 extents_;
  device_bytes memory_;
};

}  // namespace support
