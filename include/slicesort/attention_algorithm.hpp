// SPDX-License-Identifier: Apache-2.0
/// How softmax attention is computed: `streaming`, with a choice of products, or `materialized`
/// with a choice of matrix products.
#pragma once

#include <slicesort/gemm.hpp>

namespace slicesort {
inline namespace v0 {

/// How `streaming` multiplies numbers of 16 bits on the host.
///
/// - **exact** as numbers of the accumulator's type, by fused multiply-adds: the same bits on every
///   processor.
/// - **native** by the processor's own instruction for pairs of bfloat16, where there is one
///   (`vdpbf16ps` of AVX512-BF16): up to twice as fast, forward and backward. Weights and gradients
///   of scores are rounded to bfloat16 before they are multiplied, as on a GPU; numbers below
///   2^-126 count as 0; and bits depend on whether the processor has the instruction, and
///   `exec.instructions` lets it be used (`best`, `avx512`). On other processors, and for other
///   types, float16 among them, the same as `exact`, bit for bit.
///
/// A GPU multiplies 16-bit types on tensor cores either way: there the choice changes nothing.
enum class products { exact, native };

/// Attention tile by tile, with a running maximum and sum (online softmax, as in FlashAttention):
/// the map of weights is never in memory. Saves two numbers for each query.
struct streaming {
  products kind = products::exact;
};

/// Attention with the whole map of weights in memory and a softmax row by row, as the papers time
/// it. Saves the map.
///
/// @tparam Gemm what multiplies matrices: `plain_gemm`; `cblas` (`slicesort/blas.hpp`) on the host;
///         `cublas` (`slicesort/cublas.cuh`) on a GPU; or a type of yours. It needs
///         `static constexpr bool host_memory` (true if it works on host memory) and
///         `bool multiply(CUstream_st* stream, gemm_call const&) const`. Where `multiply` cannot do
///         a product it returns false without having done anything, and the library's own loops do
///         it.
template <class Gemm = plain_gemm>
struct materialized {
  Gemm gemm{};
};

}  // namespace v0
}  // namespace slicesort
