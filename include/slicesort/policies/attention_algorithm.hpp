// SPDX-License-Identifier: Apache-2.0
/// How softmax attention is computed: `streaming`, with a choice of products, or `materialized`
/// with a choice of matrix products.
#pragma once

#include <slicesort/policies/gemm.hpp>
#include <slicesort/policies/products.hpp>

SLICESORT_TYPES_BEGIN

/// Attention tile by tile, with a running maximum and sum (online softmax, as in FlashAttention):
/// the map of weights is never in memory. Saves two numbers for each query.
struct streaming {
  products kind;
  SLICESORT_ABI_TAG constexpr streaming(products p = products::exact) : kind(p) {}
};

/// Attention with the whole map of weights in memory and a softmax row by row, as the papers time
/// it. Saves the map.
///
/// @tparam Gemm what multiplies matrices: `plain_gemm`; `cblas` (`policies/blas.hpp`) on the host;
///         `cublas` (`policies/cublas.cuh`) on a GPU; or a type of yours. It needs
///         `static constexpr bool host_memory` (true if it works on host memory) and
///         `bool multiply(CUstream_st* stream, gemm_call const&) const`. Where `multiply` cannot do
///         a product it returns false without having done anything, and the library's own loops do
///         it.
template <class Gemm = plain_gemm>
struct materialized {
  Gemm gemm{};
};

SLICESORT_TYPES_END
