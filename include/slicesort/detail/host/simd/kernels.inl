// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set, in the order in which they build on each other.
// `vector_bytes`, `register_count` and SLICESORT_WIDE_ROWS (the AVX-512 row) are set by whoever
// includes this.

// clang-format off
#if SLICESORT_GNU_VECTORS
#  include <slicesort/detail/host/simd/gnu_vector.inl>
#else
#  include <slicesort/detail/host/simd/plain_vector.inl>
#endif
#include <slicesort/detail/host/simd/stream.inl>
#include <slicesort/detail/host/simd/rows.inl>
#if SLICESORT_WIDE_ROWS
#  include <slicesort/detail/host/simd/wide_rows.inl>
#endif
#include <slicesort/detail/host/simd/network.inl>
#include <slicesort/detail/host/simd/codec.inl>
#if SLICESORT_WIDE_ROWS
#  include <slicesort/detail/host/simd/wide_codec.inl>
#  include <slicesort/detail/host/simd/wide_ties.inl>
#endif
#include <slicesort/detail/host/simd/ties.inl>
#include <slicesort/detail/host/simd/tile_sorter.inl>
// clang-format on
