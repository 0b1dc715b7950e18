// SPDX-License-Identifier: Apache-2.0
#include "stand_in.hpp"

#include <slicesort/dtype.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace {

using slicesort::bfloat16;
using slicesort::float16;

// A function that fails as the test wants it to.
cublasStatus_t answer(cublasHandle_t handle, char const* function) {
  return handle->failing == function ? handle->failure : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t do_in_stream(cublasHandle_t handle, std::function<void()> work) {
#if defined(SLICESORT_TEST_PTX)
  handle->in_stream.push_back(std::move(work));
  auto const call = [](void* data) { (*static_cast<std::function<void()>*>(data))(); };
  cudaError_t const code = cudaLaunchHostFunc(handle->stream, call, &handle->in_stream.back());
  return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
#else
  (void)handle;
  work();
  return CUBLAS_STATUS_SUCCESS;
#endif
}

// One operand of a batch: matrices with adjacent elements in a column.
struct operand {
  void const* data;
  cudaDataType type;
  int leading;
  long long stride;

  std::size_t place(int batch, int row, int column) const {
    return static_cast<std::size_t>(batch * stride + static_cast<long long>(column) * leading +
                                    row);
  }
  double read(int batch, int row, int column) const {
    std::size_t const at = place(batch, row, column);
    switch (type) {
      case CUDA_R_64F:
        return static_cast<double const*>(data)[at];
      case CUDA_R_32F:
        return static_cast<double>(static_cast<float const*>(data)[at]);
      case CUDA_R_16F:
        return static_cast<double>(static_cast<float>(static_cast<float16 const*>(data)[at]));
      default:
        return static_cast<double>(static_cast<float>(static_cast<bfloat16 const*>(data)[at]));
    }
  }
  void write(int batch, int row, int column, double value) const {
    std::size_t const at = place(batch, row, column);
    auto* const to = const_cast<void*>(data);
    switch (type) {
      case CUDA_R_64F:
        static_cast<double*>(to)[at] = value;
        break;
      case CUDA_R_32F:
        static_cast<float*>(to)[at] = static_cast<float>(value);
        break;
      case CUDA_R_16F:
        static_cast<float16*>(to)[at] = float16(static_cast<float>(value));
        break;
      default:
        static_cast<bfloat16*>(to)[at] = bfloat16(static_cast<float>(value));
    }
  }
};

// The combinations of types that are asked for, of those in the manual's table.
bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F) return a == CUDA_R_64F && b == a && c == a;
  bool const narrow = a == CUDA_R_16F || a == CUDA_R_16BF;
  return compute == CUBLAS_COMPUTE_32F && a == b && (narrow || a == CUDA_R_32F) &&
         (c == a || c == CUDA_R_32F);
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return answer(handle, "cublasGetStream");
}
// "This function unconditionally resets the cuBLAS library workspace back to the default workspace
// pool" (manual of cuBLAS, cublasSetStream).
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  cublasStatus_t const status = answer(handle, "cublasSetStream");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  handle->stream = stream;
  handle->workspace = nullptr;
  return status;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t) {
  handle->workspace = workspace;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = handle->pointer_mode;
  return answer(handle, "cublasGetPointerMode");
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  cublasStatus_t const status = answer(handle, "cublasSetPointerMode");
  if (status == CUBLAS_STATUS_SUCCESS) handle->pointer_mode = mode;
  return status;
}

char const* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "the stand-in says no";
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int rows, int columns,
    int depth, void const* alpha, void const* a_data, cudaDataType a_type, int a_leading,
    long long a_stride, void const* b_data, cudaDataType b_type, int b_leading, long long b_stride,
    void const* beta, void* c_data, cudaDataType c_type, int c_leading, long long c_stride,
    int batches, cublasComputeType_t compute, cublasGemmAlgo_t) {
  cublasStatus_t const status = answer(handle, "cublasGemmStridedBatchedEx");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  bool const a_turned = of_a != CUBLAS_OP_N, b_turned = of_b != CUBLAS_OP_N;
  if (rows < 0 || columns < 0 || depth < 0 || batches < 0 ||
      a_leading < std::max(1, a_turned ? depth : rows) ||
      b_leading < std::max(1, b_turned ? columns : depth) || c_leading < std::max(1, rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(a_type, b_type, c_type, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  handle->products.push_back({handle->stream, handle->workspace, handle->pointer_mode});
  // A device would read alpha and beta from its own memory, where they are not.
  if (handle->pointer_mode != CUBLAS_POINTER_MODE_HOST) return CUBLAS_STATUS_SUCCESS;
  auto const factor = [&](void const* at) {
    return compute == CUBLAS_COMPUTE_64F ? *static_cast<double const*>(at)
                                         : static_cast<double>(*static_cast<float const*>(at));
  };
  double const of_product = factor(alpha), of_before = factor(beta);
  operand const a{a_data, a_type, a_leading, a_stride}, b{b_data, b_type, b_leading, b_stride},
      c{c_data, c_type, c_leading, c_stride};
  return do_in_stream(handle, [=] {
    for (int batch = 0; batch < batches; ++batch)
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) {
          double sum = 0;
          for (int k = 0; k < depth; ++k)
            sum += (a_turned ? a.read(batch, k, i) : a.read(batch, i, k)) *
                   (b_turned ? b.read(batch, j, k) : b.read(batch, k, j));
          double const before = of_before != 0 ? of_before * c.read(batch, i, j) : 0;
          c.write(batch, i, j, of_product * sum + before);
        }
  });
}
