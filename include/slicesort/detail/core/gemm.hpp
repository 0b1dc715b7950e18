// SPDX-License-Identifier: Apache-2.0
// Matrix products through a user-supplied BLAS: its callback, and matrix layouts that it supports.
#pragma once

#include <slicesort/dtype.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Calls the user's BLAS. `evaluate` returns false if the BLAS declines the call; null selects the
// library's own loops.
struct gemm_callback {
  void const* context = nullptr;
  bool (*evaluate)(void const* context, CUstream_st* stream, gemm_call const& call) = nullptr;

  bool multiply(CUstream_st* stream, gemm_call const& call) const {
    return evaluate != nullptr && evaluate(context, stream, call);
  }
};
// `gemm` must outlive the result.
template <class Gemm>
constexpr gemm_callback callback_of(Gemm const& gemm) {
  if constexpr (std::is_same_v<Gemm, plain_gemm>)
    return (void)gemm, gemm_callback{};
  else
    return {&gemm, [](void const* erased, CUstream_st* stream, gemm_call const& call) {
              return static_cast<Gemm const*>(erased)->multiply(stream, call);
            }};
}
// True if `Gemm` multiplies in the memory of a backend.
template <class Gemm>
constexpr bool gemm_runs_on(bool host_memory) {
  if constexpr (std::is_same_v<Gemm, plain_gemm>)
    return (void)host_memory, true;
  else
    return Gemm::host_memory == host_memory;
}

template <class T>
constexpr element_kind kind_of_element() {
  if (sizeof(T) == 8) return element_kind::f64;
  if (sizeof(T) == 4) return element_kind::f32;
  return dtype_traits<T>::infinity == dtype_traits<float16>::infinity ? element_kind::f16
                                                                      : element_kind::bf16;
}

// Layout of a matrix for a BLAS: row-major or its transpose.
struct gemm_layout {
  bool fits;        // true if a BLAS with 32-bit integers supports the layout
  bool transposed;  // true if columns are contiguous
  int leading;      // leading dimension
};

// True if the BLAS's 32-bit integers can hold the value.
inline bool fits_int32(index_t value) { return value <= std::numeric_limits<int>::max(); }

inline gemm_layout layout_of(gemm_operand const& m, index_t rows, index_t columns) {
  auto const contiguous = [](index_t count, index_t stride) { return count <= 1 || stride == 1; };
  // Returns 0 for strides that a BLAS rejects. A BLAS checks the stride even if the extent is 1.
  auto const leading_dimension_of = [](index_t count, index_t stride, index_t min) {
    min = std::max<index_t>(min, 1);
    return count <= 1 ? min : stride >= min && fits_int32(stride) ? stride : 0;
  };
  if (!fits_int32(rows) || !fits_int32(columns)) return {false, false, 0};
  if (contiguous(columns, m.column_stride))
    if (index_t const leading_dimension = leading_dimension_of(rows, m.row_stride, columns))
      return {true, false, static_cast<int>(leading_dimension)};
  if (contiguous(rows, m.row_stride))
    if (index_t const leading_dimension = leading_dimension_of(columns, m.column_stride, rows))
      return {true, true, static_cast<int>(leading_dimension)};
  return {false, false, 0};
}

SLICESORT_DETAIL_END
