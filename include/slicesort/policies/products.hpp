// SPDX-License-Identifier: Apache-2.0
/// Products of 16-bit numbers: `products::exact` or `products::native`.
#pragma once

#include <slicesort/detail/core/build.hpp>

SLICESORT_TYPES_BEGIN

/// How `softmax_attention`'s `streaming`, on the host, and `linear_attention`, on a GPU, multiply
/// numbers of 16 bits. Of other types, and on the other side, the choice changes nothing, bit for
/// bit: `softmax_attention` on a GPU always multiplies 16-bit types on tensor cores.
///
/// - **exact** as numbers of the accumulator's type, by fused multiply-adds: the same bits on every
///   processor.
/// - **native** by the processor's own instruction for small numbers, with bits of its own:
///   - `softmax_attention` by that of the host for pairs of bfloat16, where there is one
///     (`vdpbf16ps` of AVX512-BF16): up to twice as fast, forward and backward. Weights and
///     gradients of scores are rounded to bfloat16 before they are multiplied, as on a GPU; numbers
///     below 2^-126 count as 0; and bits depend on whether the processor has the instruction, and
///     `exec.instructions` lets it be used (`best`, `avx512`). On other processors, and for
///     float16, the same as `exact`, bit for bit.
///   - `linear_attention` by tensor cores (sm_80 and later), as TF32: features and sums are rounded
///     to 11 significant bits before they are multiplied, elements are not rounded.
enum class products { exact, native };

SLICESORT_TYPES_END
