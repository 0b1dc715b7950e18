// SPDX-License-Identifier: Apache-2.0
// Rows of elements as rows of numbers, and back, on every instruction set.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/number_lanes.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

namespace portable {
#include <slicesort/detail/host/simd/row_transfer.inl>
}  // namespace portable

#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2_FMA)
namespace avx2 {
#  include <slicesort/detail/host/simd/row_transfer.inl>
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
#  include <slicesort/detail/host/simd/row_transfer.inl>
}  // namespace avx512
SLICESORT_TARGET_END
#endif

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
