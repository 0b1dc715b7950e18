// SPDX-License-Identifier: Apache-2.0
// Products of small matrices in the accumulator's type, on every instruction set.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <utility>

SLICESORT_DETAIL_BEGIN

inline constexpr int product_rows = 8;      // rows of a product come in whole blocks,
inline constexpr int product_columns = 16;  // and so do its columns

// Numbers of a row that a product may read, or write, in whole vectors.
constexpr index_t padded_columns(index_t columns) {
  return (columns + product_columns - 1) / product_columns * product_columns;
}
constexpr index_t padded_rows(index_t rows) {
  return (rows + product_rows - 1) / product_rows * product_rows;
}

// A matrix whose element (r, k) is `data[r * row + k * step]`; one of the two distances is 1.
template <class A>
struct strided_rows {
  A const* data;
  index_t row, step;
};
// A matrix whose rows are `pitch` elements apart.
template <class A>
struct pitched_rows {
  A* data;
  index_t pitch;
};

// A product of matrices: c = scale * (a * b), or c = scale * (c * factors + a * b), or, with a sum
// that is formed apart, c = c * kept + (a * b).
template <class A>
struct product_call {
  struct extent {
    int rows, columns;  // of c, in whole blocks
    index_t depth;
  };
  struct epilogue {
    bool adds = false;           // to c
    A const* factors = nullptr;  // of c's columns; null: 1
    A scale = A(1);
    bool apart = false;  // the sums begin with 0
    A kept = A(1);
  };
  strided_rows<A> a;        // [rows, depth]
  pitched_rows<A const> b;  // [depth, columns]
  pitched_rows<A> c;        // [rows, columns]
  extent size;
  epilogue end{};
};

// The kernels of products of whole matrices (matrix_product.hpp), on one instruction set.
template <class T>
struct gemm_kernels : row_kernels<T> {
  using A = accumulator_t<T>;

  void (*multiply)(product_call<A> const&);

  explicit gemm_kernels(isa wanted) {
    with_isa(fused_isa(wanted), [&](auto target) { choose_gemm_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_TEXT <slicesort/detail/host/simd/micro_kernel.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
