// SPDX-License-Identifier: Apache-2.0
// The tile sorter for every instruction set, and the choice among them at run time. One text, included
// once per set inside a region that lets the compiler use it, so a binary built for the baseline is fast
// on newer processors. Nothing here needs a vendor's intrinsics header.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/math/total_order.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__GNUC__)
#  define SLICESORT_INLINE inline __attribute__((always_inline))
#else
#  define SLICESORT_INLINE inline
#endif

#if defined(__clang__)
#  define SLICESORT_TARGET_AVX2 \
    _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#  define SLICESORT_TARGET_AVX512 \
    _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512bw,avx512dq,avx512vl\"))), apply_to = function)")
#  define SLICESORT_TARGET_END _Pragma("clang attribute pop")
#else
#  define SLICESORT_TARGET_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#  define SLICESORT_TARGET_AVX512 \
    _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512bw,avx512dq,avx512vl\")")
#  define SLICESORT_TARGET_END _Pragma("GCC pop_options")
#endif

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

namespace portable {
inline constexpr int vector_bytes = 16, register_count = 16;
#if SLICESORT_GNU_VECTORS
#  include <slicesort/detail/host/simd/gnu_vector.inl>
#else
#  include <slicesort/detail/host/simd/plain_vector.inl>
#endif
#include <slicesort/detail/host/simd/stream.inl>
//
#include <slicesort/detail/host/simd/rows.inl>
//
#include <slicesort/detail/host/simd/network.inl>
//
#include <slicesort/detail/host/simd/codec.inl>
#include <slicesort/detail/host/simd/ties.inl>
#include <slicesort/detail/host/simd/tile_sorter.inl>
}  // namespace portable

#if SLICESORT_X86_DISPATCH
SLICESORT_TARGET_AVX2
namespace avx2 {
inline constexpr int vector_bytes = 32, register_count = 16;
#  include <slicesort/detail/host/simd/gnu_vector.inl>
#  if !defined(__clang__)
SLICESORT_INLINE void stream_wide(vec<long long, 4>* to, vec<long long, 4> const& v) {
  __builtin_ia32_movntdq256(to, v);
}
#  endif
#  include <slicesort/detail/host/simd/stream.inl>
//
#  include <slicesort/detail/host/simd/rows.inl>
//
#  include <slicesort/detail/host/simd/network.inl>
//
#  include <slicesort/detail/host/simd/codec.inl>
#  include <slicesort/detail/host/simd/ties.inl>
#  include <slicesort/detail/host/simd/tile_sorter.inl>
}  // namespace avx2
SLICESORT_TARGET_END

SLICESORT_TARGET_AVX512
namespace avx512 {
inline constexpr int vector_bytes = 64, register_count = 32;
#  include <slicesort/detail/host/simd/gnu_vector.inl>
#  if !defined(__clang__)
SLICESORT_INLINE void stream_wide(vec<long long, 4>* to, vec<long long, 4> const& v) {
  __builtin_ia32_movntdq256(to, v);
}
SLICESORT_INLINE void stream_wide(vec<long long, 8>* to, vec<long long, 8> const& v) {
  __builtin_ia32_movntdq512(to, v);
}
#  endif
#  include <slicesort/detail/host/simd/stream.inl>
//
#  include <slicesort/detail/host/simd/rows.inl>
#  include <slicesort/detail/host/simd/wide_rows.inl>
//
#  include <slicesort/detail/host/simd/network.inl>
//
#  include <slicesort/detail/host/simd/codec.inl>
#  include <slicesort/detail/host/simd/wide_codec.inl>
//
#  include <slicesort/detail/host/simd/wide_ties.inl>
//
#  include <slicesort/detail/host/simd/ties.inl>
#  include <slicesort/detail/host/simd/tile_sorter.inl>
}  // namespace avx512
SLICESORT_TARGET_END
#endif

// Sorts the tile; its rows fit 16-bit indices.
template <class T>
void sort_tile(isa set, column_tile<T> const& tile) {
#if SLICESORT_X86_DISPATCH
  if (set == isa::avx512) {
    using codec = std::conditional_t<sizeof(T) == 2, avx512::packed_codec<T>,
                                     std::conditional_t<sizeof(T) == 4, avx512::wide_codec<T>, avx512::pairs_codec<T>>>;
    return avx512::sort_columns<T, avx512::values_codec<T>, codec>(tile);
  }
  if (set == isa::avx2) {
    using codec = std::conditional_t<sizeof(T) == 2, avx2::packed_codec<T>, avx2::pairs_codec<T>>;
    return avx2::sort_columns<T, avx2::values_codec<T>, codec>(tile);
  }
#endif
  (void)set;
  using codec = std::conditional_t<sizeof(T) == 2, portable::packed_codec<T>, portable::pairs_codec<T>>;
  portable::sort_columns<T, portable::values_codec<T>, codec>(tile);
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
