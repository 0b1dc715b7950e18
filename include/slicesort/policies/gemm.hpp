// SPDX-License-Identifier: Apache-2.0
/// The description of matrix products that a BLAS is asked for.
#pragma once

#include <slicesort/tensor_view.hpp>

struct CUstream_st;

SLICESORT_TYPES_BEGIN

/// The element types that a matrix product may have.
enum class element_kind { f32, f64, f16, bf16 };

/// One operand of a product, a sequence of matrices: `data` points to element (0, 0) of the first
/// one. Strides count elements.
struct gemm_operand {
  void const* data;
  element_kind kind;
  index_t row_stride, column_stride, matrix_stride;
};

/// `c = alpha * a * b + beta * c` for `matrices` triples of matrices: a is `rows x depth`, b
/// `depth x columns`, c `rows x columns`. `c.data` is written; it is not read if `beta` is 0.
struct gemm_call {
  index_t rows, columns, depth, matrices;
  double alpha, beta;
  gemm_operand a, b, c;
};

/// For `materialized<plain_gemm>`, the default: products by the library's own loops, without a
/// BLAS.
struct plain_gemm {};

SLICESORT_TYPES_END
