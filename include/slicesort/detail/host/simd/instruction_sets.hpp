// SPDX-License-Identifier: Apache-2.0
// The tile sorter for every instruction set, and the choice among them at run time. One text,
// included once per set inside a region that lets the compiler use it, so a binary built for the
// baseline is fast on newer processors. Nothing here needs a vendor's intrinsics header.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/total_order.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

namespace portable {
inline constexpr int vector_bytes = 16, register_count = 16;
#define SLICESORT_WIDE_ROWS 0
#include <slicesort/detail/host/simd/kernels.inl>
#undef SLICESORT_WIDE_ROWS
}  // namespace portable

#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_BEGIN(SLICESORT_AVX2)
namespace avx2 {
inline constexpr int vector_bytes = 32, register_count = 16;
#  define SLICESORT_WIDE_ROWS 0
#  include <slicesort/detail/host/simd/kernels.inl>
#  undef SLICESORT_WIDE_ROWS
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_BEGIN(SLICESORT_AVX512)
namespace avx512 {
inline constexpr int vector_bytes = 64, register_count = 32;
#  define SLICESORT_WIDE_ROWS 1
#  include <slicesort/detail/host/simd/kernels.inl>
#  undef SLICESORT_WIDE_ROWS
}  // namespace avx512
SLICESORT_TARGET_END
#endif

#if SLICESORT_X86_DISPATCH
template <class T>
using avx512_codec = std::conditional_t<
    sizeof(T) == 2, avx512::packed_codec<T>,
    std::conditional_t<sizeof(T) == 4, avx512::wide_codec<T>, avx512::pairs_codec<T>>>;
template <class T>
using avx2_codec = std::conditional_t<sizeof(T) == 2, avx2::packed_codec<T>, avx2::pairs_codec<T>>;
#endif
template <class T>
using portable_codec =
    std::conditional_t<sizeof(T) == 2, portable::packed_codec<T>, portable::pairs_codec<T>>;

// Sorts the tile; its rows fit 16-bit indices.
template <class T>
void sort_tile(isa set, column_tile<T> const& tile) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx512)
    return avx512::sort_columns<T, avx512::values_codec<T>, avx512_codec<T>>(tile);
  if (set == isa::avx2) return avx2::sort_columns<T, avx2::values_codec<T>, avx2_codec<T>>(tile);
#endif
  (void)set;
  portable::sort_columns<T, portable::values_codec<T>, portable_codec<T>>(tile);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
