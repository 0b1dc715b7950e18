// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS on host memory, with plain loops.
#include "stand_in.hpp"

#include <slicesort/dtype.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace {

using slicesort::bfloat16;
using slicesort::float16;

// Returns the status of a function. A test can select a function that fails.
cublasStatus_t status_of(cublasHandle_t handle, char const* function) {
  return handle->failing_function == function ? handle->failure : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t run_in_stream(cublasHandle_t handle, std::function<void()> work) {
#if defined(SLICESORT_TEST_PTX)
  handle->pending_work.push_back(std::move(work));
  auto const call = [](void* data) { (*static_cast<std::function<void()>*>(data))(); };
  cudaError_t const code = cudaLaunchHostFunc(handle->stream, call, &handle->pending_work.back());
  return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
#else
  (void)handle;
  work();
  return CUBLAS_STATUS_SUCCESS;
#endif
}

// A batch of column-major matrices.
struct operand {
  void const* data;
  cudaDataType type;
  int leading_dimension;
  long long stride;

  std::size_t index(int batch, int row, int column) const {
    return static_cast<std::size_t>(batch * stride +
                                    static_cast<long long>(column) * leading_dimension + row);
  }
  double read(int batch, int row, int column) const {
    std::size_t const i = index(batch, row, column);
    switch (type) {
      case CUDA_R_64F:
        return static_cast<double const*>(data)[i];
      case CUDA_R_32F:
        return static_cast<double>(static_cast<float const*>(data)[i]);
      case CUDA_R_16F:
        return static_cast<double>(static_cast<float>(static_cast<float16 const*>(data)[i]));
      default:
        return static_cast<double>(static_cast<float>(static_cast<bfloat16 const*>(data)[i]));
    }
  }
  void write(int batch, int row, int column, double value) const {
    std::size_t const i = index(batch, row, column);
    auto* const output = const_cast<void*>(data);
    switch (type) {
      case CUDA_R_64F:
        static_cast<double*>(output)[i] = value;
        break;
      case CUDA_R_32F:
        static_cast<float*>(output)[i] = static_cast<float>(value);
        break;
      case CUDA_R_16F:
        static_cast<float16*>(output)[i] = float16(static_cast<float>(value));
        break;
      default:
        static_cast<bfloat16*>(output)[i] = bfloat16(static_cast<float>(value));
    }
  }
};

// True for the combinations of types in the manual's table that the library uses.
bool is_supported(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F) return a == CUDA_R_64F && b == a && c == a;
  bool const is_16_bit = a == CUDA_R_16F || a == CUDA_R_16BF;
  return compute == CUBLAS_COMPUTE_32F && a == b && (is_16_bit || a == CUDA_R_32F) &&
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
  return status_of(handle, "cublasGetStream");
}
// "This function unconditionally resets the cuBLAS library workspace back to the default workspace
// pool" (manual of cuBLAS, cublasSetStream).
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  cublasStatus_t const status = status_of(handle, "cublasSetStream");
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
  return status_of(handle, "cublasGetPointerMode");
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  cublasStatus_t const status = status_of(handle, "cublasSetPointerMode");
  if (status == CUBLAS_STATUS_SUCCESS) handle->pointer_mode = mode;
  return status;
}

char const* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "the stand-in says no";
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation, int rows,
    int columns, int depth, void const* alpha, void const* a_data, cudaDataType a_type, int lda,
    long long a_stride, void const* b_data, cudaDataType b_type, int ldb, long long b_stride,
    void const* beta, void* c_data, cudaDataType c_type, int ldc, long long c_stride, int batches,
    cublasComputeType_t compute, cublasGemmAlgo_t) {
  cublasStatus_t const status = status_of(handle, "cublasGemmStridedBatchedEx");
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  bool const a_transposed = a_operation != CUBLAS_OP_N, b_transposed = b_operation != CUBLAS_OP_N;
  if (rows < 0 || columns < 0 || depth < 0 || batches < 0 ||
      lda < std::max(1, a_transposed ? depth : rows) ||
      ldb < std::max(1, b_transposed ? columns : depth) || ldc < std::max(1, rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_supported(a_type, b_type, c_type, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  handle->products.push_back({handle->stream, handle->workspace, handle->pointer_mode});
  // In device mode, cuBLAS would read alpha and beta from device memory, but they are on the
  // host.
  if (handle->pointer_mode != CUBLAS_POINTER_MODE_HOST) return CUBLAS_STATUS_SUCCESS;
  auto const read_factor = [&](void const* address) {
    return compute == CUBLAS_COMPUTE_64F ? *static_cast<double const*>(address)
                                         : static_cast<double>(*static_cast<float const*>(address));
  };
  double const alpha_value = read_factor(alpha), beta_value = read_factor(beta);
  operand const a{a_data, a_type, lda, a_stride}, b{b_data, b_type, ldb, b_stride},
      c{c_data, c_type, ldc, c_stride};
  return run_in_stream(handle, [=] {
    for (int batch = 0; batch < batches; ++batch)
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) {
          double sum = 0;
          for (int k = 0; k < depth; ++k)
            sum += (a_transposed ? a.read(batch, k, i) : a.read(batch, i, k)) *
                   (b_transposed ? b.read(batch, j, k) : b.read(batch, k, j));
          double const scaled_c = beta_value != 0 ? beta_value * c.read(batch, i, j) : 0;
          c.write(batch, i, j, alpha_value * sum + scaled_c);
        }
  });
}
