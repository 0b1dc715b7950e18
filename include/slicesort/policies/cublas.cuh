// SPDX-License-Identifier: Apache-2.0
/// Matrix products through cuBLAS: `softmax_attention<Mask, materialized<cublas>>`. Not part of the
/// umbrella header; link with cuBLAS (`slicesort::cublas`).
#pragma once

#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/error.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdio>

SLICESORT_OPERATORS_BEGIN

/// Multiplies with `cublasGemmStridedBatchedEx`, with double accumulation for double and float
/// accumulation for other types (TF32 only if the handle's math mode enables it). The handle
/// belongs to the caller, must belong to the stream's device, and must be used by one thread at a
/// time. Calls set its stream and preserve its pointer mode.
///
/// Graph capture requires a user-provided workspace in the handle. Set the stream first, then the
/// workspace (`cublasSetStream`, `cublasSetWorkspace`): setting another stream resets it.
///
/// Errors: `cuda_error` with the cuBLAS status, except for `CUBLAS_STATUS_NOT_SUPPORTED`.
struct cublas {
  cublasHandle_t handle = nullptr;
  static constexpr bool host_memory = false;

  /// Returns false without computing the product if cuBLAS does not support the strides or types.
  bool multiply(CUstream_st* stream, gemm_call const& call) const {
    if (handle == nullptr) return false;
    bool const wide = call.a.kind == element_kind::f64;
    if (call.a.kind != call.b.kind || (wide && call.c.kind != element_kind::f64)) return false;
    // cuBLAS is column-major and reads row-major matrices as transposes, so operands are passed in
    // the order b, a. If c is column-major, all three are transposed once more.
    if (!detail::layout_of(call.c, call.rows, call.columns).transposed)
      return multiply_rows(stream, call);
    gemm_call transposed_call = call;
    transposed_call.rows = call.columns;
    transposed_call.columns = call.rows;
    transposed_call.a = transposed(call.b);
    transposed_call.b = transposed(call.a);
    transposed_call.c = transposed(call.c);
    return multiply_rows(stream, transposed_call);
  }

 private:
  static gemm_operand transposed(gemm_operand const& m) {
    return {m.data, m.kind, m.column_stride, m.row_stride, m.matrix_stride};
  }
  // Computes the product for a row-major c.
  bool multiply_rows(CUstream_st* stream, gemm_call const& call) const {
    bool const wide = call.a.kind == element_kind::f64;
    auto const a = detail::layout_of(call.a, call.rows, call.depth);
    auto const b = detail::layout_of(call.b, call.depth, call.columns);
    auto const c = detail::layout_of(call.c, call.rows, call.columns);
    if (!a.fits || !b.fits || !c.fits || c.transposed || !detail::fits_int32(call.matrices))
      return false;
    auto const operation = [](detail::gemm_layout const& m) {
      return m.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    float const float_factors[2] = {static_cast<float>(call.alpha), static_cast<float>(call.beta)};
    double const double_factors[2] = {call.alpha, call.beta};
    void const* const alpha = wide ? static_cast<void const*>(double_factors) : float_factors;
    void const* const beta =
        wide ? static_cast<void const*>(double_factors + 1) : float_factors + 1;
    auto const to_int = [](index_t n) { return static_cast<int>(n); };
    use_stream(stream);
    cublasPointerMode_t const mode = pointer_mode();
    set_pointer_mode(mode, CUBLAS_POINTER_MODE_HOST);  // alpha and beta are in host memory
    cublasStatus_t const status = cublasGemmStridedBatchedEx(
        handle, operation(b), operation(a), to_int(call.columns), to_int(call.rows),
        to_int(call.depth), alpha, call.b.data, cuda_type_of(call.b.kind), b.leading,
        call.b.matrix_stride, call.a.data, cuda_type_of(call.a.kind), a.leading,
        call.a.matrix_stride, beta, const_cast<void*>(call.c.data), cuda_type_of(call.c.kind),
        c.leading, call.c.matrix_stride, to_int(call.matrices),
        wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    set_pointer_mode(CUBLAS_POINTER_MODE_HOST, mode);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    enforce(status, "cublasGemmStridedBatchedEx");
    return true;
  }

  // Sets the stream only if it changes, because cublasSetStream resets the handle's workspace.
  void use_stream(CUstream_st* stream) const {
    cudaStream_t current = nullptr;
    enforce(cublasGetStream(handle, &current), "cublasGetStream");
    if (current != stream) enforce(cublasSetStream(handle, stream), "cublasSetStream");
  }
  cublasPointerMode_t pointer_mode() const {
    cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
    enforce(cublasGetPointerMode(handle, &mode), "cublasGetPointerMode");
    return mode;
  }
  void set_pointer_mode(cublasPointerMode_t from, cublasPointerMode_t to) const {
    if (from != to) enforce(cublasSetPointerMode(handle, to), "cublasSetPointerMode");
  }

  static cudaDataType_t cuda_type_of(element_kind kind) {
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
  static void enforce(cublasStatus_t code, char const* function) {
    if (code == CUBLAS_STATUS_SUCCESS) return;
    status failure;
    failure.kind = error_kind::cuda;
    failure.code = static_cast<int>(code);
    std::snprintf(failure.message, sizeof failure.message, "%s: %s", function,
                  cublasGetStatusString(code));
    detail::enforce(failure);
  }
};

SLICESORT_OPERATORS_END
