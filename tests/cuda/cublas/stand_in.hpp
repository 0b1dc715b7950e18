// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuBLAS on host memory, which needs no GPU. It implements the functions that
// <slicesort/policies/cublas.cuh> and its callers use, as specified in NVIDIA's manual. It is
// linked in place of cuBLAS and records the state of the handle. Products are computed immediately;
// with SLICESORT_TEST_PTX, whose device memory is host memory, they are computed in their stream.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

struct cublasContext {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;  // null: cuBLAS's pool, not allowed in a capture
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;

  // State of the handle when a product is called.
  struct product {
    cudaStream_t stream;
    void* workspace;
    cublasPointerMode_t pointer_mode;
  };
  std::vector<product> products;
  std::deque<std::function<void()>> pending_work;  // may be pending in a stream or a graph

  // The function that returns `failure` and does nothing else.
  std::string failing_function;
  cublasStatus_t failure = CUBLAS_STATUS_SUCCESS;
};
