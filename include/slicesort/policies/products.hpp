// SPDX-License-Identifier: Apache-2.0
/// Products of 16-bit elements: `products::exact` or `products::native`.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

/// Multiplication of 16-bit elements in `softmax_attention`'s `streaming` on the host and in
/// `linear_attention` on a GPU. Elsewhere the choice has no effect: `softmax_attention` on a GPU
/// always multiplies 16-bit types on tensor cores.
///
/// - **exact** multiplies in the accumulator's type, by fused multiply-adds: the same bits on every
///   processor.
/// - **native** multiplies with 16-bit instructions of the processor, if it has any, which changes
///   the bits:
///   - `softmax_attention` uses `vdpbf16ps` (AVX512-BF16), for bfloat16: up to twice as fast,
///     forward and backward. Weights and score gradients are rounded to bfloat16 before they are
///     multiplied, as on a GPU, and values below 2^-126 are flushed to 0. Applies if the processor
///     has the instruction and `exec.instructions` allows it (`best`, `avx512`); otherwise, and for
///     float16, results are those of `exact`.
///   - `linear_attention` uses tensor cores (sm_80 and later), as TF32: features and sums are
///     rounded to 11 significant bits before they are multiplied; elements are not rounded.
enum class products { exact, native };

SLICESORT_TYPES_END
