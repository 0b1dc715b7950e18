// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuBLAS on host memory, so that no GPU is
// needed: the functions that <slicesort/policies/cublas.cuh> and its callers use, as NVIDIA's
// manual describes them. It is linked in cuBLAS's place, and a test sees what a handle was told.
// Products are taken at once; by SLICESORT_TEST_PTX in their stream, since the PTX machine's memory
// is the host's.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;  // null: cuBLAS's own, which a capture may not take
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;

  // Each product: where it would have run.
  struct product {
    cudaStream_t stream;
    void* workspace;
    cublasPointerMode_t pointer_mode;
  };
  std::vector<product> products;
  std::deque<std::function<void()>> in_stream;  // what a stream or a graph may still have to do

  // What the function of this name shall answer, without doing anything.
  std::string failing;
  cublasStatus_t failure = CUBLAS_STATUS_SUCCESS;
};
