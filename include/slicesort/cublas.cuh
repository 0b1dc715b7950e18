// SPDX-License-Identifier: Apache-2.0
/// cuBLAS for `materialised`: `softmax_attention<Mask, materialised<cublas>>`. Not part of the umbrella; link with
/// cuBLAS (`slicesort::cublas`).
#pragma once

#include <slicesort/attention_algorithm.hpp>
#include <slicesort/detail/backend.hpp>
#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <limits>

namespace slicesort {
inline namespace SLICESORT_BUILD {

/// Multiplies with `cublasGemmStridedBatchedEx`, sums in double for double and else in float (no TF32 unless the
/// handle's math mode asks for it). The handle is the caller's: of the stream's device, and used by one thread at
/// a time; its stream is set to the call's. To be captured in a graph it needs a workspace of its own
/// (`cublasSetWorkspace`).
///
/// Errors: `cuda_error` with cuBLAS's status where that is not `CUBLAS_STATUS_NOT_SUPPORTED`.
struct cublas {
  cublasHandle_t handle = nullptr;
  static constexpr bool host_memory = false;

  /// Whether it was done; not where the strides are none that cuBLAS has.
  bool multiply(CUstream_st* stream, gemm_call const& call) const {
    if (handle == nullptr) return false;
    bool const wide = call.a.kind == element_kind::f64;
    if (call.a.kind != call.b.kind || (wide && call.c.kind != element_kind::f64)) return false;
    // To cuBLAS columns lie one behind the other. A c whose rows do is its own transpose there.
    bool const turned = call.c.row_stride != 1 || call.c.column_stride == 1;
    index_t const rows = turned ? call.columns : call.rows,
                  columns = turned ? call.rows : call.columns;
    matrix const a(turned ? call.b : call.a, rows, call.depth, turned),
        b(turned ? call.a : call.b, call.depth, columns, turned), c(call.c, rows, columns, turned);
    if (!a.fits || !b.fits || !c.fits || c.operation != CUBLAS_OP_N) return false;
    constexpr index_t most = std::numeric_limits<int>::max();
    if (call.rows > most || call.columns > most || call.depth > most || call.matrices > most)
      return false;
    float const narrow[2] = {static_cast<float>(call.alpha), static_cast<float>(call.beta)};
    double const full[2] = {call.alpha, call.beta};
    void const* const factors = wide ? static_cast<void const*>(full) : narrow;
    void const* const beta = wide ? static_cast<void const*>(full + 1) : narrow + 1;
    auto const count = [](index_t n) { return static_cast<int>(n); };
    cublasStatus_t status = cublasSetStream(handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = cublasGemmStridedBatchedEx(
          handle, a.operation, b.operation, count(rows), count(columns), count(call.depth), factors,
          a.data, a.type, count(a.leading), a.each, b.data, b.type, count(b.leading), b.each, beta,
          const_cast<void*>(c.data), c.type, count(c.leading), c.each, count(call.matrices),
          wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    impl::enforce(verdict_of(status));
    return true;
  }

 private:
  // A matrix as cuBLAS sees it, after it was turned where `turned`.
  struct matrix {
    void const* data;
    cudaDataType_t type;
    cublasOperation_t operation = CUBLAS_OP_N;
    index_t leading = 1, each;
    bool fits = true;

    // `rows` and `columns` are what it shall be to cuBLAS.
    matrix(gemm_operand const& m, index_t rows, index_t columns, bool turned)
        : data(m.data), type(type_of(m.kind)), each(m.matrix_stride) {
      index_t const down = turned ? m.column_stride : m.row_stride,
                    across = turned ? m.row_stride : m.column_stride;
      if ((down == 1 || rows <= 1) && (across >= rows || columns <= 1)) {
        leading = columns <= 1 ? rows : across;
      } else if ((across == 1 || columns <= 1) && (down >= columns || rows <= 1)) {
        operation = CUBLAS_OP_T;
        leading = rows <= 1 ? columns : down;
      } else {
        fits = false;
      }
      if (leading < 1) leading = 1;
      fits = fits && leading <= std::numeric_limits<int>::max();
    }
  };
  static cudaDataType_t type_of(element_kind kind) {
    switch (kind) {
      case element_kind::f32:
        return CUDA_R_32F;
      case element_kind::f64:
        return CUDA_R_64F;
      case element_kind::f16:
        return CUDA_R_16F;
      default:
        return CUDA_R_16BF;
    }
  }
  static verdict verdict_of(cublasStatus_t status) {
    verdict v;
    if (status == CUBLAS_STATUS_SUCCESS) return v;
    v.kind = error_kind::cuda;
    v.code = static_cast<int>(status);
    std::snprintf(v.message, sizeof v.message, "cublasGemmStridedBatchedEx: %s",
                  cublasGetStatusString(status));
    return v;
  }
};

}  // namespace SLICESORT_BUILD
}  // namespace slicesort
