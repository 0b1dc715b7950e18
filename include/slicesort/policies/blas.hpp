// SPDX-License-Identifier: Apache-2.0
/// Matrix products through a BLAS for `materialized` attention on the host. Optional, and not part
/// of the umbrella header: it needs `<cblas.h>` and a library with CBLAS (OpenBLAS, MKL, BLIS,
/// ...), which the CMake target `slicesort::blas` takes from `find_package(BLAS)`.
#pragma once

#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/tensor_view.hpp>

#include <cblas.h>

SLICESORT_TYPES_BEGIN

/// Multiplies float and double matrices with `cblas_sgemm` and `cblas_dgemm`:
/// `materialized<cblas>`. The BLAS may start threads. Other types, and matrices without a unit
/// stride, fall back to the library's own loops. Rounding is up to the BLAS and may depend on its
/// number of threads.
struct cblas {
  static constexpr bool host_memory = true;

  SLICESORT_ABI_TAG bool multiply(CUstream_st*, gemm_call const& call) const {
    if (call.a.kind != call.c.kind || call.b.kind != call.c.kind || !detail::fits_int32(call.depth))
      return false;
    if (call.c.kind == element_kind::f32) return multiply_batch<float>(call, cblas_sgemm);
    if (call.c.kind == element_kind::f64) return multiply_batch<double>(call, cblas_dgemm);
    return false;
  }

 private:
  template <class T, class Product>
  SLICESORT_ABI_TAG static bool multiply_batch(gemm_call const& call, Product product) {
    auto const a = detail::layout_of(call.a, call.rows, call.depth);
    auto const b = detail::layout_of(call.b, call.depth, call.columns);
    auto const c = detail::layout_of(call.c, call.rows, call.columns);
    if (!a.fits || !b.fits || !c.fits || c.transposed) return false;
    auto const matrix = [](gemm_operand const& m, index_t matrix_index) {
      return static_cast<T const*>(m.data) + matrix_index * m.matrix_stride;
    };
    for (index_t i = 0; i < call.matrices; ++i)
      product(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, static_cast<int>(call.rows),
              static_cast<int>(call.columns), static_cast<int>(call.depth),
              static_cast<T>(call.alpha), matrix(call.a, i), a.leading, matrix(call.b, i),
              b.leading, static_cast<T>(call.beta), const_cast<T*>(matrix(call.c, i)), c.leading);
    return true;
  }
};

SLICESORT_TYPES_END
