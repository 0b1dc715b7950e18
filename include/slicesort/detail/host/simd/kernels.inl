// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction set, in the order in which they build on each other.
// A whole row of a tile of 16-bit words in one register is a case of its own.

// clang-format off
inline constexpr int vector_bytes = SLICESORT_VECTOR_BYTES, register_count = SLICESORT_VECTOR_REGISTERS;
#if SLICESORT_GNU_VECTORS
#  include <slicesort/detail/host/simd/gnu_vector.inl>
#else
#  include <slicesort/detail/host/simd/plain_vector.inl>
#endif
#include <slicesort/detail/host/simd/stream.inl>
#include <slicesort/detail/host/simd/rows.inl>
#if SLICESORT_VECTOR_BYTES == 64
#  include <slicesort/detail/host/simd/wide_rows.inl>
#endif
#include <slicesort/detail/host/simd/network.inl>
#include <slicesort/detail/host/simd/codec.inl>
#if SLICESORT_VECTOR_BYTES == 64
#  include <slicesort/detail/host/simd/wide_codec.inl>
#  include <slicesort/detail/host/simd/wide_ties.inl>
#endif
#include <slicesort/detail/host/simd/ties.inl>
#include <slicesort/detail/host/simd/tile_sorter.inl>
// clang-format on
