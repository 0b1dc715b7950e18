// SPDX-License-Identifier: Apache-2.0
/// Algorithms of softmax attention: `streaming`, with selectable 16-bit products, or
/// `materialized`, with a selectable matrix product.
#pragma once

#include <slicesort/policies/gemm.hpp>
#include <slicesort/policies/products.hpp>

SLICESORT_TYPES_BEGIN

/// Computes attention tile by tile with a running maximum and sum (online softmax, as in
/// FlashAttention). The weights are never stored. Saves two values per query.
struct streaming {
  products kind;
  SLICESORT_ABI_TAG constexpr streaming(products p = products::exact) : kind(p) {}
};

/// Computes attention with the full weight matrix in memory and a softmax of every row, the
/// baseline that papers time. Saves the weight matrix.
///
/// @tparam Gemm the matrix product: `plain_gemm`; `cblas` (`policies/blas.hpp`) on the host;
///         `cublas` (`policies/cublas.cuh`) on a GPU; or a user-defined type. It needs
///         `static constexpr bool host_memory` (true if it works on host memory) and
///         `bool multiply(CUstream_st* stream, gemm_call const&) const`, which returns false and
///         does nothing for a product that it does not support. The library then uses its own
///         loops.
template <class Gemm = plain_gemm>
struct materialized {
  Gemm gemm{};
};

SLICESORT_TYPES_END
