// SPDX-License-Identifier: Apache-2.0
// The element types for which the tests compile the variants of an operator that do not see its
// elements. Conversions and sums do not depend on these variants:
//   masks             float and bfloat16 have range_mask and sparse_mask. The other types have
//                     pattern_mask, which includes range_mask. The library's masks are tested with
//                     double on the host (softmax_attention/library_masks.cpp), and mask::causal
//                     with all types on CUDA (cuda/test_known_masks.cu).
//   custom functions  float16 has no custom_feature and no custom_score_function.
#pragma once

#include <slicesort/dtype.hpp>

#include <type_traits>

// These expand to their arguments for a type that has every mask, and custom functions.
#define SLICESORT_TEST_IF_EVERY_MASK_float(...) __VA_ARGS__
#define SLICESORT_TEST_IF_EVERY_MASK_double(...)
#define SLICESORT_TEST_IF_EVERY_MASK_float16(...)
#define SLICESORT_TEST_IF_EVERY_MASK_bfloat16(...) __VA_ARGS__
#define SLICESORT_TEST_IF_CUSTOM_float(...) __VA_ARGS__
#define SLICESORT_TEST_IF_CUSTOM_double(...) __VA_ARGS__
#define SLICESORT_TEST_IF_CUSTOM_float16(...)
#define SLICESORT_TEST_IF_CUSTOM_bfloat16(...) __VA_ARGS__

namespace support {

template <class T>
inline constexpr bool has_every_mask =
    std::is_same_v<T, float> || std::is_same_v<T, slicesort::bfloat16>;
template <class T>
inline constexpr bool has_custom_functions = !std::is_same_v<T, slicesort::float16>;

}  // namespace support
