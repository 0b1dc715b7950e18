// SPDX-License-Identifier: Apache-2.0
// Micro kernel: products of small matrices in the accumulator's type, on every instruction set.
#pragma once

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <utility>

SLICESORT_DETAIL_BEGIN

// Rows and columns of a product are multiples of these values.
inline constexpr int product_rows = 8, product_columns = 16;

constexpr index_t padded_columns(index_t columns) {
  return (columns + product_columns - 1) / product_columns * product_columns;
}
constexpr index_t padded_rows(index_t rows) {
  return (rows + product_rows - 1) / product_rows * product_rows;
}

// Matrix with element (r, k) at data[r * row_stride + k * depth_stride]. One of the strides is 1.
template <class A>
struct strided_rows {
  A const* data;
  index_t row_stride, depth_stride;
};
template <class A>
struct pitched_rows {
  A* data;
  index_t pitch;
};

// Arguments of a product: c = scale * (a * b). With `accumulate`, c = scale * (c * factors + a *
// b). With `separate_sum` instead, c = c * c_scale + scale * (a * b), where the sum a * b starts
// from 0.
template <class A>
struct product_params {
  struct extent {
    int rows, columns;  // multiples of product_rows, product_columns
    index_t depth;
  };
  struct epilogue_params {
    bool accumulate = false;
    A const* factors = nullptr;  // per column of c; null means 1
    A scale = A(1);
    bool separate_sum = false;
    A c_scale = A(1);
    bool is_output = false;  // of the operator: every NaN becomes the canonical one
  };
  strided_rows<A> a;        // [rows, depth]
  pitched_rows<A const> b;  // [depth, columns]
  pitched_rows<A> c;        // [rows, columns]
  extent size;
  epilogue_params epilogue{};
};

// Kernels for products of whole matrices (matrix_product.hpp) on one instruction set.
template <class T>
struct gemm_kernels : row_kernels<T> {
  using A = accumulator_t<T>;

  void (*multiply)(product_params<A> const&);

  explicit gemm_kernels(isa set) {
    with_isa(fused_isa(set), [&](auto target) { choose_gemm_kernels(target, *this); });
  }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/host/simd/micro_kernel.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
