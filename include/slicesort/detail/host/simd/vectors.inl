// SPDX-License-Identifier: Apache-2.0
// Vectors of lanes for one instruction set: GNU vectors, or arrays where the compiler has none.
// Included once per instruction set.

// clang-format off
inline constexpr int vector_bytes = SLICESORT_VECTOR_BYTES,
                     register_count = SLICESORT_VECTOR_REGISTERS;
#if SLICESORT_GNU_VECTORS
#  include <slicesort/detail/host/simd/gnu_vector.inl>
#else
#  include <slicesort/detail/host/simd/plain_vector.inl>
#endif
#include <slicesort/detail/host/simd/stream.inl>
#include <slicesort/detail/host/simd/transpose.inl>
// clang-format on
