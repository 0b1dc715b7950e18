// SPDX-License-Identifier: Apache-2.0
// Allocation, copies and error codes of memory calls.
#include <cuda_runtime.h>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

std::size_t free_bytes() {
  std::size_t unused = 0, total = 0;
  CHECK(cudaMemGetInfo(&unused, &total) == cudaSuccess);
  CHECK(unused <= total);
  return unused;
}

}  // namespace

TEST_CASE("memory is allocated and freed") {
  std::size_t const before = free_bytes();
  unsigned char* data = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&data), 1000) == cudaSuccess);
  CHECK(free_bytes() == before - 1000);
  CHECK(cudaFree(data) == cudaSuccess);
  CHECK(free_bytes() == before);
  CHECK(cudaFree(data) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  int host_variable = 0;
  CHECK(cudaFree(&host_variable) == cudaErrorInvalidValue);

  void* empty = data;
  CHECK(cudaMalloc(&empty, 0) == cudaSuccess);
  CHECK(empty == nullptr);
  CHECK(cudaMalloc(&empty, before + 1) == cudaErrorMemoryAllocation);
}

TEST_CASE("stream-ordered memory is allocated and freed") {
  std::size_t const before = free_bytes();
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  void* data = nullptr;
  CHECK(cudaMallocAsync(&data, 1000, stream) == cudaSuccess);
  CHECK(free_bytes() == before - 1000);
  CHECK(cudaMemsetAsync(data, 3, 1000, stream) == cudaSuccess);
  CHECK(cudaFreeAsync(data, stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(free_bytes() == before);
  CHECK(cudaFreeAsync(data, stream) == cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaMallocAsync(&data, 1000, stream) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("pinned memory is freed by cudaFreeHost only") {
  void* data = nullptr;
  CHECK(cudaMallocHost(&data, 100) == cudaSuccess);
  CHECK(cudaFree(data) == cudaErrorInvalidValue);
  CHECK(cudaFreeHost(data) == cudaSuccess);
}

TEST_CASE("a copy must match its kind, and stay within allocations") {
  std::vector<unsigned char> host(100, 7), back(100);
  unsigned char *source = nullptr, *destination = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&source), 100) == cudaSuccess);
  CHECK(cudaMalloc(reinterpret_cast<void**>(&destination), 100) == cudaSuccess);
  CHECK(cudaMemcpy(source, host.data(), 100, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(destination, source, 100, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(back.data(), destination, 100, cudaMemcpyDefault) == cudaSuccess);
  CHECK(back == host);
  CHECK(cudaMemset(source + 10, 9, 90) == cudaSuccess);
  CHECK(cudaMemcpy(back.data(), source, 100, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(back[9] == 7);
  CHECK(back[10] == 9);

  CHECK(cudaMemcpy(source, host.data(), 100, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(source, host.data(), 100, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(source + 1, host.data(), 100, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(back.data(), source + 1, 100, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemset(source + 1, 0, 100) == cudaErrorInvalidValue);
  CHECK(cudaMemset(host.data(), 0, 100) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(source + 100, host.data(), 0, cudaMemcpyHostToDevice) == cudaSuccess);

  CHECK(cudaFree(source) == cudaSuccess);
  CHECK(cudaMemcpy(back.data(), source, 100, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(back.data(), source, 100, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaFree(destination) == cudaSuccess);
}

TEST_CASE("device memory holds garbage at first") {
  std::vector<unsigned char> back(64);
  void* data = nullptr;
  CHECK(cudaMalloc(&data, 64) == cudaSuccess);
  CHECK(cudaMemcpy(back.data(), data, 64, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (unsigned char byte : back) CHECK(byte != 0);
  CHECK(cudaFree(data) == cudaSuccess);
}

TEST_CASE("the last error is stored until it is read") {
  (void)cudaGetLastError();
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 0);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaGetErrorName(cudaErrorInvalidDevice) == std::string("cudaErrorInvalidDevice"));
  CHECK(cudaGetErrorString(cudaErrorInvalidDevice) == std::string("invalid device ordinal"));
}
