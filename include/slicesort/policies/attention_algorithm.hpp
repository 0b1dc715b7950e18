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
template <class Gemm = plain_gemm>
struct materialized {
  Gemm gemm{};
};

SLICESORT_TYPES_END
