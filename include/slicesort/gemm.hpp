// SPDX-License-Identifier: Apache-2.0
/// Matrix products, as a BLAS is asked for them.
#pragma once

#include <slicesort/tensor_view.hpp>

struct CUstream_st;

namespace slicesort {
inline namespace v0 {

/// The element types that a matrix product may be asked about.
enum class element_kind { f32, f64, f16, bf16 };

/// A matrix of a product: `data` points to element (0, 0) of the first one; distances in elements.
struct gemm_operand {
  void const* data;
  element_kind kind;
  index_t row_stride, column_stride, matrix_stride;
};

/// `c = alpha * a * b + beta * c` for `matrices` triples: a is `rows x depth`, b `depth x columns`.
/// What c held is not read where `beta` is 0. `c.data` may be written.
struct gemm_call {
  index_t rows, columns, depth, matrices;
  double alpha, beta;
  gemm_operand a, b, c;
};

/// The products of `materialized` without a BLAS: the library's own loops.
struct plain_gemm {};

}  // namespace v0
}  // namespace slicesort
