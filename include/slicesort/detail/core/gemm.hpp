// SPDX-License-Identifier: Apache-2.0
// Matrix products of a BLAS: the callback that a call carries, and how a BLAS describes a matrix.
#pragma once

#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <limits>

SLICESORT_DETAIL_BEGIN

// Multiplies matrices for a caller's BLAS. Null selects the library's own loops.
struct gemm_callback {
  void const* self = nullptr;
  bool (*evaluate)(void const* self, CUstream_st* stream, gemm_call const& call) = nullptr;

  bool multiply(CUstream_st* stream, gemm_call const& call) const {
    return evaluate != nullptr && evaluate(self, stream, call);
  }
};

// A matrix as a BLAS describes it: rows of adjacent elements at a leading dimension, or the
// transpose of such a matrix.
struct gemm_layout {
  bool fits;        // whether it can be said so, in 32-bit numbers
  bool transposed;  // columns are adjacent instead of rows
  int leading;
};

inline bool fits_blas(index_t number) { return number <= std::numeric_limits<int>::max(); }

inline gemm_layout layout_of(gemm_operand const& m, index_t rows, index_t columns) {
  // The stride of an axis of extent 1 is never used, but a BLAS checks it.
  auto const along = [](index_t count, index_t stride) { return count <= 1 || stride == 1; };
  auto const apart = [](index_t count, index_t stride, index_t least) {
    least = std::max<index_t>(least, 1);
    return count <= 1 ? least : stride >= least && fits_blas(stride) ? stride : 0;
  };
  if (!fits_blas(rows) || !fits_blas(columns)) return {false, false, 0};
  if (along(columns, m.column_stride))
    if (index_t const leading = apart(rows, m.row_stride, columns))
      return {true, false, static_cast<int>(leading)};
  if (along(rows, m.row_stride))
    if (index_t const leading = apart(columns, m.column_stride, rows))
      return {true, true, static_cast<int>(leading)};
  return {false, false, 0};
}

SLICESORT_DETAIL_END
