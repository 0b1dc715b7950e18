// SPDX-License-Identifier: Apache-2.0
// Device attributes, launch limits, and errors after a kernel has crashed.
#include "kernels.cuh"

#include <doctest/doctest.h>

#include <cstddef>

namespace {

// An attribute of the device, whose compute capability is 8.0 or 9.0 (SLICESORT_PTX_DEVICE).
int attribute(cudaDeviceAttr name) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, name, 0) == cudaSuccess);
  return value;
}
int compute_capability() {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
         attribute(cudaDevAttrComputeCapabilityMinor);
}

cudaError_t launch(void (*kernel)(int*), int* argument, dim3 grid, dim3 block,
                   std::size_t shared = 0, unsigned cluster = 0) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  cudaLaunchAttribute cluster_attribute{};
  cluster_attribute.id = cudaLaunchAttributeClusterDimension;
  cluster_attribute.val.clusterDim.x = cluster;
  cluster_attribute.val.clusterDim.y = cluster_attribute.val.clusterDim.z = 1;
  config.attrs = &cluster_attribute;
  config.numAttrs = cluster == 0 ? 0 : 1;
  void* arguments[] = {&argument};
  (void)cudaGetLastError();  // clears the errors of earlier calls
  cudaError_t const code =
      cudaLaunchKernelExC(&config, reinterpret_cast<void const*>(kernel), arguments);
  CHECK(cudaGetLastError() == code);
  return code;
}

}  // namespace

TEST_CASE("properties and attributes of the device agree") {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(10 * properties.major + properties.minor == compute_capability());
  CHECK(properties.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount));
  CHECK(static_cast<int>(properties.sharedMemPerBlockOptin) ==
        attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  CHECK(cudaGetDeviceProperties(&properties, 1) == cudaErrorInvalidDevice);
  (void)cudaGetLastError();
}

TEST_CASE("the device runs its PTX") {
  device_int const counter(0);
  CHECK(launch(write_architecture, counter.data(), 1, 1) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK((compute_capability() == 80 || compute_capability() == 90));
  CHECK(counter.value() == compute_capability() * 10);
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, write_architecture) == cudaSuccess);
  CHECK(attributes.ptxVersion == compute_capability());
  CHECK(attributes.maxThreadsPerBlock == 1024);
  CHECK(cudaFuncGetAttributes(&attributes, write_block_size) == cudaSuccess);
  CHECK(attributes.maxThreadsPerBlock == 64);
}

TEST_CASE("a launch that a device rejects is rejected") {
  device_int const counter(0);
  int* const data = counter.data();
  CHECK(launch(add_one, data, 1, 1025) == cudaErrorInvalidValue);
  CHECK(launch(add_one, data, 1, 0) == cudaErrorInvalidValue);
  CHECK(launch(add_one, data, 0, 1) == cudaErrorInvalidValue);
  CHECK(launch(add_one, data, 1, dim3(1, 1, 65)) == cudaErrorInvalidValue);
  CHECK(launch(add_one, data, dim3(1, 65536), 1) == cudaErrorInvalidValue);
  CHECK(launch(write_block_size, data, 1, 65) == cudaErrorInvalidValue);
  CHECK(counter.value() == 0);
  CHECK(launch(write_block_size, data, 1, 64) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(counter.value() == 64);
}

TEST_CASE("shared memory is limited by the opt-in and by the device") {
  device_int const counter(0);
  auto const kernel = reinterpret_cast<void const*>(&add_one);
  int const max_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  CHECK(max_bytes == (compute_capability() == 80 ? 163 * 1024 : 227 * 1024));
  CHECK(launch(add_one, counter.data(), 1, 1, 48 * 1024) == cudaSuccess);
  CHECK(launch(add_one, counter.data(), 1, 1, 48 * 1024 + 1) == cudaErrorInvalidValue);
  auto const limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
  CHECK(cudaFuncSetAttribute(kernel, limit, max_bytes + 1) == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(kernel, limit, max_bytes) == cudaSuccess);
  CHECK(launch(add_one, counter.data(), 1, 1, static_cast<std::size_t>(max_bytes)) == cudaSuccess);
  CHECK(cudaFuncSetAttribute(kernel, limit, 48 * 1024) == cudaSuccess);
  CHECK(launch(add_one, counter.data(), 1, 1, 48 * 1024 + 1) == cudaErrorInvalidValue);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(counter.value() == 2);
}

TEST_CASE("clusters have at most eight blocks, and divide the grid") {
  device_int const counter(0);
  cudaError_t const expected =
      compute_capability() < 90 ? cudaErrorInvalidClusterSize : cudaSuccess;
  CHECK(launch(write_architecture, counter.data(), 8, 1, 0, 8) == expected);
  CHECK(launch(write_architecture, counter.data(), 16, 1, 0, 16) == cudaErrorInvalidClusterSize);
  CHECK(launch(write_architecture, counter.data(), 9, 1, 0, 8) == cudaErrorInvalidClusterSize);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

// The tests below crash the device or end the process; CMakeLists.txt runs each separately.
TEST_CASE("lost: after a kernel has crashed, every call reports that" * doctest::skip()) {
  device_int const counter(0);
  int* beyond = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&beyond), 100) == cudaSuccess);
  add_one<<<1, 1>>>(beyond + 25);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  void* data = nullptr;
  CHECK(cudaMalloc(&data, 1) == cudaErrorLaunchFailure);
  CHECK(cudaFree(beyond) == cudaErrorLaunchFailure);
  CHECK(cudaMemset(counter.data(), 0, 1) == cudaErrorLaunchFailure);
  CHECK(launch(add_one, counter.data(), 1, 1) == cudaErrorLaunchFailure);
}

TEST_CASE("freed: a kernel that uses freed memory crashes" * doctest::skip()) {
  int* data = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&data), sizeof(int)) == cudaSuccess);
  CHECK(cudaFree(data) == cudaSuccess);
  int* other = nullptr;  // must not reuse the memory
  CHECK(cudaMalloc(reinterpret_cast<void**>(&other), sizeof(int)) == cudaSuccess);
  CHECK(other != data);
  add_one<<<1, 1>>>(data);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
}

TEST_CASE("unknown: a call that the runtime does not have" * doctest::skip()) {
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc const format{};
  (void)cudaMallocArray(&array, &format, 1, 1, 0);
  FAIL("it returned");
}
