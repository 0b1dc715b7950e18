// SPDX-License-Identifier: Apache-2.0
// Sorts one column on the device, in a library that hides CUDA from its users.
#include "sort_column.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <cstdio>

namespace ss = slicesort;

namespace {

struct device_memory {
  void* data = nullptr;
  explicit device_memory(std::size_t bytes) { (void)cudaMalloc(&data, bytes); }
  ~device_memory() { (void)cudaFree(data); }
};

void sort_column(float const* x, float* y, int* rows, int length) {
  ss::slicing_sort<ss::descending> const op;
  ss::exec::cuda const exec{};
  ss::extents3 const e{1, length, 1};
  // Called before any allocation: without a device, this call fails.
  std::size_t const scratch_bytes = op.workspace_bytes<float>(exec, e);
  std::size_t const bytes = static_cast<std::size_t>(length) * 4;
  device_memory const values(bytes), perm(bytes), scratch(scratch_bytes);
  (void)cudaMemcpy(values.data, x, bytes, cudaMemcpyHostToDevice);
  ss::tensor3<float> const view(static_cast<float*>(values.data), e);
  ss::tensor3<std::int32_t> const saved(static_cast<std::int32_t*>(perm.data), e);
  op.forward(exec, view, view, {saved}, {scratch.data, scratch_bytes});
  (void)cudaMemcpy(y, values.data, bytes, cudaMemcpyDeviceToHost);
  (void)cudaMemcpy(rows, perm.data, bytes, cudaMemcpyDeviceToHost);
}

}  // namespace

extern "C" int SLICESORT_TEST_SORT_COLUMN(float const* x, float* y, int* rows, int length,
                                          char message[256]) {
  try {
    sort_column(x, y, rows, length);
    return 0;
  } catch (ss::cuda_error const& e) {
    std::snprintf(message, 256, "%s", e.what());
    return e.code;
  }
}
