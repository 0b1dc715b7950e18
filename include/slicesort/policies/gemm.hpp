// SPDX-License-Identifier: Apache-2.0
/// Description of a batched matrix product, as a BLAS receives it.
#pragma once

#include <slicesort/tensor_view.hpp>

struct CUstream_st;

SLICESORT_TYPES_BEGIN

/// Element types of matrix products.
enum class element_kind { f32, f64, f16, bf16 };

/// One operand of a product, a batch of matrices: `data` points to element (0, 0) of the first one.
/// Strides count elements.
struct gemm_operand {
  void const* data;
  element_kind kind;
  index_t row_stride, column_stride, matrix_stride;
};

/// `c = alpha * a * b + beta * c` for `matrices` triples of matrices. a is `rows x depth`, b is
/// `depth x columns`, c is `rows x columns`. `c.data` is written, and not read if `beta` is 0.
struct gemm_call {
  index_t rows, columns, depth, matrices;
  double alpha, beta;
  gemm_operand a, b, c;
};

/// Computes products with the library's own loops: `materialized<plain_gemm>`, the default.
struct plain_gemm {};

SLICESORT_TYPES_END
