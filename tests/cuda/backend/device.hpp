// SPDX-License-Identifier: Apache-2.0
// Device memory and streams for tests compiled as plain C++. Every call of the CUDA runtime is
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

// Returns the reason why no device is usable, or "" if one is.
std::string no_device();

class device_stream {
 public:
  // A non-blocking stream has no implicit order with the default stream.
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

// Size of the red zones. compute-sanitizer runs without them (SLICESORT_TEST_RED_ZONES=0), since
// they hide small overruns.
inline std::size_t red_zone_bytes() {
  static char const* const setting = std::getenv("SLICESORT_TEST_RED_ZONES");
  return setting != nullptr && setting[0] == '0' ? 0 : 4096;
}

// Device memory between red zones, `offset` bytes past an aligned address.
class device_bytes {
 public:
  explicit device_bytes(std::size_t bytes, unsigned char fill = 0xcb, std::size_t offset = 0)
      : bytes_(bytes), offset_(offset) {
    SLICESORT_TEST_CUDA_CALL(cudaMalloc(&memory_, bytes + offset + 2 * red_zone_bytes()));
    SLICESORT_TEST_CUDA_CALL(
        cudaMemset(memory_, red_zone_byte, bytes + offset + 2 * red_zone_bytes()));
    set(fill);
  }
  ~device_bytes() { (void)cudaFree(memory_); }
  device_bytes(device_bytes const&) = delete;
  device_bytes& operator=(device_bytes const&) = delete;

  void* data() const { return static_cast<unsigned char*>(memory_) + red_zone_bytes() + offset_; }
  std::size_t size() const { return bytes_; }

  // The functions below wait for all streams.
  void set(unsigned char fill) {
    SLICESORT_TEST_CUDA_CALL(cudaMemset(data(), fill, bytes_));
    SLICESORT_TEST_CUDA_CALL(cudaDeviceSynchronize());
  }
  void upload(void const* source) {
    SLICESORT_TEST_CUDA_CALL(cudaMemcpy(data(), source, bytes_, cudaMemcpyHostToDevice));
    SLICESORT_TEST_CUDA_CALL(cudaDeviceSynchronize());
  }
  std::vector<unsigned char> download() const { return download_bytes(data(), bytes_); }
  bool red_zones_intact() const {
    auto const leading_zone = download_bytes(memory_, red_zone_bytes() + offset_);
    auto const trailing_zone =
        download_bytes(static_cast<unsigned char*>(data()) + bytes_, red_zone_bytes());
    for (auto const* red_zone : {&leading_zone, &trailing_zone})
      for (unsigned char byte : *red_zone)
        if (byte != red_zone_byte) return false;
    return true;
  }

 private:
  static std::vector<unsigned char> download_bytes(void const* source, std::size_t bytes) {
    std::vector<unsigned char> host(bytes);
    SLICESORT_TEST_CUDA_CALL(cudaDeviceSynchronize());
    SLICESORT_TEST_CUDA_CALL(cudaMemcpy(host.data(), source, bytes, cudaMemcpyDeviceToHost));
    return host;
  }
  static constexpr unsigned char red_zone_byte = 0x5a;

  void* memory_ = nullptr;
  std::size_t bytes_, offset_;
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
