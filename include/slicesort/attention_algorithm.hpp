// SPDX-License-Identifier: Apache-2.0
/// How softmax attention is computed: `streaming`, or `materialized` with a matrix product of
/// choice.
#pragma once

#include <slicesort/gemm.hpp>

namespace slicesort {
inline namespace v0 {

/// Tile by tile with a running maximum and sum (online softmax; FlashAttention): the map of weights
/// is never in memory. Saves two numbers a query.
struct streaming {};

/// The whole map of weights in memory, row by row a softmax: what the papers time. Saves the map.
///
/// @tparam Gemm who multiplies matrices: `plain_gemm`; `cblas` (`slicesort/blas.hpp`) on the host;
///         `cublas` (`slicesort/cublas.cuh`) on a GPU; or a type of yours with
///         `static constexpr bool host_memory`, whether it works on the host, and
///         `bool multiply(CUstream_st* stream, gemm_call const&) const`, which returns false,
///         having done nothing, where it cannot: then the library's loops do it.
template <class Gemm = plain_gemm>
struct materialized {
  Gemm gemm{};
};

}  // namespace v0
}  // namespace slicesort
