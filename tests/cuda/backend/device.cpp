// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include "mirror.hpp"

#include <mutex>

namespace support {

std::string no_device() {
  int devices = 0;
  cudaError_t const status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return {};
  (void)cudaGetLastError();
  return status == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString(status);
}

namespace {

// The memory of images on the device. It is kept from call to call, because allocating takes longer
// than sorting.
struct device_memory {
  void* data = nullptr;
  std::size_t bytes = 0;

  void grow(std::size_t need) {
    if (need <= bytes) return;
    SLICESORT_TEST_CUDA_CALL(cudaFree(data));
    data = nullptr;
    SLICESORT_TEST_CUDA_CALL(cudaMalloc(&data, need));
    bytes = need;
  }
};

}  // namespace

void run_mirrored(memory_image& image, std::function<void(CUstream_st*)> const& call) {
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> const lock(one_at_a_time);
  static device_stream const stream;
  static device_memory there;
  auto& bytes = image.bytes();
  there.grow(bytes.size());
  for (auto& p : image.pieces()) p.moved = static_cast<unsigned char*>(there.data) + p.offset;
  SLICESORT_TEST_CUDA_CALL(cudaMemcpyAsync(there.data, bytes.data(), bytes.size(),
                                           cudaMemcpyHostToDevice, stream.get()));
  call(stream.get());
  SLICESORT_TEST_CUDA_CALL(cudaMemcpyAsync(bytes.data(), there.data, bytes.size(),
                                           cudaMemcpyDeviceToHost, stream.get()));
  stream.wait();
  std::string const wrong = image.give_back();
  if (!wrong.empty()) throw std::logic_error("on the device: " + wrong);
}

}  // namespace support
