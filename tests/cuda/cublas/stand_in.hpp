// SPDX-License-Identifier: Apache-2.0
// A stand-in for cuBLAS on host memory, so that no GPU is needed: the functions that
// <slicesort/cublas.cuh> and its callers use, as NVIDIA's manual describes them. It is linked in
// cuBLAS's place, and a test sees what a handle was told.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

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

  // What the function of this name shall answer, without doing anything.
  std::string failing;
  cublasStatus_t failure = CUBLAS_STATUS_SUCCESS;
};
