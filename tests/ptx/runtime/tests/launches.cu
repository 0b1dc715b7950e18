// SPDX-License-Identifier: Apache-2.0
#include "kernels.cuh"

#include <doctest/doctest.h>

#include <cstddef>

namespace {

// What a device of compute capability 8.0 or 9.0 has: SLICESORT_PTX_DEVICE.
int attribute(cudaDeviceAttr which) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess);
  return value;
}
int capability() {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
         attribute(cudaDevAttrComputeCapabilityMinor);
}

cudaError_t launch(void (*kernel)(int*), int* to, dim3 grid, dim3 block, std::size_t shared = 0,
                   unsigned cluster = 0) {
  cudaLaunchConfig_t how{};
  how.gridDim = grid;
  how.blockDim = block;
  how.dynamicSmemBytes = shared;
  cudaLaunchAttribute in_clusters{};
  in_clusters.id = cudaLaunchAttributeClusterDimension;
  in_clusters.val.clusterDim.x = cluster;
  in_clusters.val.clusterDim.y = in_clusters.val.clusterDim.z = 1;
  how.attrs = &in_clusters;
  how.numAttrs = cluster == 0 ? 0 : 1;
  void* arguments[] = {&to};
  (void)cudaGetLastError();  // of earlier calls
  cudaError_t const code =
      cudaLaunchKernelExC(&how, reinterpret_cast<void const*>(kernel), arguments);
  CHECK(cudaGetLastError() == code);
  return code;
}

}  // namespace

TEST_CASE("properties and attributes of the device agree") {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(10 * properties.major + properties.minor == capability());
  CHECK(properties.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount));
  CHECK(static_cast<int>(properties.sharedMemPerBlockOptin) ==
        attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  CHECK(cudaGetDeviceProperties(&properties, 1) == cudaErrorInvalidDevice);
  (void)cudaGetLastError();
}

TEST_CASE("the PTX for the device is run") {
  device_int const there(0);
  CHECK(launch(write_architecture, there.data(), 1, 1) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK((capability() == 80 || capability() == 90));
  CHECK(there.value() == capability() * 10);
  cudaFuncAttributes of{};
  CHECK(cudaFuncGetAttributes(&of, write_architecture) == cudaSuccess);
  CHECK(of.ptxVersion == capability());
  CHECK(of.maxThreadsPerBlock == 1024);
  CHECK(cudaFuncGetAttributes(&of, bounded) == cudaSuccess);
  CHECK(of.maxThreadsPerBlock == 64);
}

TEST_CASE("a launch that a device would refuse is refused") {
  device_int const there(0);
  int* const to = there.data();
  CHECK(launch(add_one, to, 1, 1025) == cudaErrorInvalidConfiguration);
  CHECK(launch(add_one, to, 1, 0) == cudaErrorInvalidConfiguration);
  CHECK(launch(add_one, to, 0, 1) == cudaErrorInvalidConfiguration);
  CHECK(launch(add_one, to, 1, dim3(1, 1, 65)) == cudaErrorInvalidConfiguration);
  CHECK(launch(add_one, to, dim3(1, 65536), 1) == cudaErrorInvalidConfiguration);
  CHECK(launch(bounded, to, 1, 65) == cudaErrorLaunchOutOfResources);
  CHECK(there.value() == 0);
  CHECK(launch(bounded, to, 1, 64) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(there.value() == 64);
}

TEST_CASE("shared memory is given as far as it was asked for, and as there is") {
  device_int const there(0);
  auto const kernel = reinterpret_cast<void const*>(&add_one);
  int const most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  CHECK(most == (capability() == 80 ? 163 * 1024 : 227 * 1024));
  CHECK(launch(add_one, there.data(), 1, 1, 48 * 1024) == cudaSuccess);
  CHECK(launch(add_one, there.data(), 1, 1, 48 * 1024 + 1) == cudaErrorInvalidValue);
  auto const limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
  CHECK(cudaFuncSetAttribute(kernel, limit, most + 1) == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(kernel, limit, most) == cudaSuccess);
  CHECK(launch(add_one, there.data(), 1, 1, static_cast<std::size_t>(most)) == cudaSuccess);
  CHECK(cudaFuncSetAttribute(kernel, limit, 48 * 1024) == cudaSuccess);
  CHECK(launch(add_one, there.data(), 1, 1, 48 * 1024 + 1) == cudaErrorInvalidValue);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(there.value() == 2);
}

TEST_CASE("clusters are of at most eight blocks, and divide the grid") {
  device_int const there(0);
  cudaError_t const fine = capability() < 90 ? cudaErrorInvalidClusterSize : cudaSuccess;
  CHECK(launch(write_architecture, there.data(), 8, 1, 0, 8) == fine);
  CHECK(launch(write_architecture, there.data(), 16, 1, 0, 16) == cudaErrorInvalidClusterSize);
  CHECK(launch(write_architecture, there.data(), 9, 1, 0, 8) == cudaErrorInvalidClusterSize);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

// The three below end the device's life, or the process's, and are run alone: see CMakeLists.txt.
TEST_CASE("lost: after a kernel has crashed, every call reports that" * doctest::skip()) {
  device_int const there(0);
  int* beyond = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&beyond), 100) == cudaSuccess);
  add_one<<<1, 1>>>(beyond + 25);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  void* data = nullptr;
  CHECK(cudaMalloc(&data, 1) == cudaErrorLaunchFailure);
  CHECK(cudaFree(beyond) == cudaErrorLaunchFailure);
  CHECK(cudaMemset(there.data(), 0, 1) == cudaErrorLaunchFailure);
  CHECK(launch(add_one, there.data(), 1, 1) == cudaErrorLaunchFailure);
}

TEST_CASE("freed: a kernel that uses freed memory crashes" * doctest::skip()) {
  int* data = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&data), sizeof(int)) == cudaSuccess);
  CHECK(cudaFree(data) == cudaSuccess);
  int* other = nullptr;  // not in its place
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
