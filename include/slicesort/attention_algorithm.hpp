// SPDX-License-Identifier: Apache-2.0
/// How softmax attention is computed: `streaming`, or `materialised` with a matrix product of choice.
#pragma once

#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {

/// Tile by tile with a running maximum and sum (online softmax; FlashAttention): the map of weights is
/// never in memory. Saves two numbers a query.
struct streaming {};

/// The element types that a matrix product may be asked about.
enum class element_kind { f32, f64, f16, bf16 };

/// A matrix of a product: `data` points to element (0, 0) of the first one; distances in elements.
struct gemm_operand {
  void const* data;
  element_kind kind;
  index_t row_stride, column_stride, matrix_stride;
};

/// `c = alpha * a * b + beta * c` for `matrices` triples: a is `rows x depth`, b `depth x columns`. What c
/// held is not read where `beta` is 0. `c.data` may be written.
struct gemm_call {
  index_t rows, columns, depth, matrices;
  double alpha, beta;
  gemm_operand a, b, c;
};

/// The products of `materialised` without a BLAS: the library's own loops.
struct plain_gemm {};

/// The whole map of weights in memory, row by row a softmax: what the papers time. Saves the map.
///
/// @tparam Gemm who multiplies matrices: `plain_gemm`; `cblas` (`slicesort/blas.hpp`) on the host; `cublas`
///         (`slicesort/cublas.cuh`) on a GPU; or a type of yours with `static constexpr bool host_memory`,
///         whether it works on the host, and `bool multiply(CUstream_st* stream, gemm_call const&) const`,
///         which returns false, having done nothing, where it cannot: then the library's loops do it.
template <class Gemm = plain_gemm>
struct materialised {
  Gemm gemm{};
};

}  // namespace v0
}  // namespace slicesort
