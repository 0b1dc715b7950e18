// SPDX-License-Identifier: Apache-2.0
/// Products of 16-bit numbers: `products::exact` or `products::native`.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

/// Multiplication of 16-bit numbers by `softmax_attention`'s `streaming` on the host, and by
/// `linear_attention` on a GPU. Elsewhere the choice changes no bit: `softmax_attention` on a GPU
/// always multiplies 16-bit types on tensor cores.
///
/// - **exact** multiplies in the accumulator's type, by fused multiply-adds: the same bits on every
///   processor.
/// - **native** multiplies by the processor's instruction for 16-bit numbers, if it has one, which
///   changes the bits:
///   - `softmax_attention` by `vdpbf16ps` (AVX512-BF16), for bfloat16: up to twice as fast, forward
///     and backward. Weights and gradients of scores are rounded to bfloat16 before they are
///     multiplied, as on a GPU, and numbers below 2^-126 count as 0. Applies if the processor has
///     the instruction and `exec.instructions` admits it (`best`, `avx512`); else, and for float16,
///     the bits are those of `exact`.
///   - `linear_attention` by tensor cores (sm_80 and later), as TF32: features and sums are rounded
///     to 11 significant bits before they are multiplied, elements are not rounded.
enum class products { exact, native };

SLICESORT_TYPES_END
