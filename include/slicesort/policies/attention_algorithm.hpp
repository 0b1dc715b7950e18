// SPDX-License-Identifier: Apache-2.0
/// Algorithms of softmax attention: `streaming`, with a choice of products, or `materialized`, with
/// a choice of matrix products.
#pragma once

#include <slicesort/policies/gemm.hpp>
#include <slicesort/policies/products.hpp>

SLICESORT_TYPES_BEGIN

/// Attention tile by tile with a running maximum and sum (online softmax, as in FlashAttention),
/// without a map of weights in memory. Saves two numbers per query.
struct streaming {
  products kind;
  SLICESORT_ABI_TAG constexpr streaming(products p = products::exact) : kind(p) {}
};

/// Attention with the whole map of weights in memory and a softmax row by row, as papers time it.
/// Saves the map.
///
/// @tparam Gemm the matrix product: `plain_gemm`; `cblas` (`policies/blas.hpp`) on the host;
///         `cublas` (`policies/cublas.cuh`) on a GPU; or a type of yours. It needs
///         `static constexpr bool host_memory` (true if it works on host memory) and
///         `bool multiply(CUstream_st* stream, gemm_call const&) const`, which returns false and
///         does nothing for a product that it cannot compute: the library's loops then do.
template <class Gemm = plain_gemm>
struct materialized {
  Gemm gemm{};
};

SLICESORT_TYPES_END
