// SPDX-License-Identifier: Apache-2.0
// The tile sorter for every instruction set, and the choice among them at run time. One text, compiled
// once per set, so a binary built for the baseline is fast on newer processors. Nothing here needs a vendor's intrinsics header.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/vectors.hpp>
#include <slicesort/detail/math/total_order.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

#define SLICESORT_TARGET_TEXT <slicesort/detail/sort/host/kernels.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

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
