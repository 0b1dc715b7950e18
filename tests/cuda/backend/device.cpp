// SPDX-License-Identifier: Apache-2.0
// Detects a device, and runs calls on device copies of host memory.
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

// Device memory of images, reused by all calls because allocation takes longer than sorting.
struct device_memory {
  void* data = nullptr;
  std::size_t bytes = 0;

  void grow(std::size_t required) {
    if (required <= bytes) return;
    SLICESORT_TEST_CUDA_CALL(cudaFree(data));
    data = nullptr;
    SLICESORT_TEST_CUDA_CALL(cudaMalloc(&data, required));
    bytes = required;
  }
};

}  // namespace

void run_mirrored(memory_image& image, std::function<void(CUstream_st*)> const& call) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> const lock(mutex);
  static device_stream const stream;
  static device_memory memory;
  auto& bytes = image.bytes();
  memory.grow(bytes.size());
  for (auto& region : image.regions())
    region.device = static_cast<unsigned char*>(memory.data) + region.offset;
  SLICESORT_TEST_CUDA_CALL(cudaMemcpyAsync(memory.data, bytes.data(), bytes.size(),
                                           cudaMemcpyHostToDevice, stream.get()));
  call(stream.get());
  SLICESORT_TEST_CUDA_CALL(cudaMemcpyAsync(bytes.data(), memory.data, bytes.size(),
                                           cudaMemcpyDeviceToHost, stream.get()));
  stream.wait();
  std::string const error = image.copy_back();
  if (!error.empty()) throw std::logic_error("on the device: " + error);
}

}  // namespace support
