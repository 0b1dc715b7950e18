// SPDX-License-Identifier: Apache-2.0
// SIMD vectors of one instruction set: GNU vectors, or arrays if the compiler has none.

// clang-format off
inline constexpr int vector_bytes = SLICESORT_VECTOR_BYTES,
                     register_count = SLICESORT_VECTOR_REGISTERS;
#if SLICESORT_GNU_VECTORS
#  include <slicesort/detail/host/simd/gnu_vector.inl>
#else
#  include <slicesort/detail/host/simd/plain_vector.inl>
#endif
// clang-format on

// Stores a vector; with `Stream`, by a streaming store.
template <bool Stream, class V>
SLICESORT_INLINE void store_vector(void* to, V const& v) {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream && sizeof(V) >= 16) {
#  if defined(__clang__)
    __builtin_nontemporal_store(v, static_cast<V*>(to));
#  else
    using chunks = vec<long long, static_cast<int>(sizeof(V) / 8)>;
    if constexpr (sizeof(V) == 16)
      __builtin_ia32_movntdq(static_cast<chunks*>(to), reinterpret_cast<chunks>(v));
    else if constexpr (sizeof(V) == 32)
      __builtin_ia32_movntdq256(static_cast<chunks*>(to), reinterpret_cast<chunks>(v));
    else
      __builtin_ia32_movntdq512(static_cast<chunks*>(to), reinterpret_cast<chunks>(v));
#  endif
    return;
  }
#endif
  store_lanes(to, v);
}

// Makes streaming stores visible to other threads.
template <bool Stream>
SLICESORT_INLINE void finish_streaming() {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream) __builtin_ia32_sfence();
#endif
}

// One of log2(side) equal steps of a transpose. Rotates the bits of (row, lane) by one.
template <class V, std::size_t... Pair>
SLICESORT_INLINE void transpose_step(V* x, std::index_sequence<Pair...>) {
  constexpr std::size_t half = sizeof...(Pair);
  V zipped[2 * half];
  ((zipped[2 * Pair] = zip<false>(x[Pair], x[Pair + half]),
    zipped[2 * Pair + 1] = zip<true>(x[Pair], x[Pair + half])),
   ...);
  ((x[Pair] = zipped[Pair], x[Pair + half] = zipped[Pair + half]), ...);
}
// Transposes a square matrix in registers.
template <int Side, int Steps = Side, class V>
SLICESORT_INLINE void transpose(V* x) {
  if constexpr (Steps > 1) {
    transpose_step(x, std::make_index_sequence<std::size_t{Side} / 2>{});
    transpose<Side, Steps / 2>(x);
  }
}
// Transposes a square matrix from memory to memory.
template <class V, class Lane, std::size_t... Indices>
SLICESORT_INLINE void transpose_rows(Lane const* from, std::ptrdiff_t from_pitch, Lane* to,
                                     std::ptrdiff_t to_pitch, std::index_sequence<Indices...>) {
  V x[] = {load_lanes<V>(from + static_cast<std::ptrdiff_t>(Indices) * from_pitch)...};
  transpose<static_cast<int>(sizeof...(Indices))>(x);
  (store_lanes(to + static_cast<std::ptrdiff_t>(Indices) * to_pitch, x[Indices]), ...);
}
template <class V, class Lane>
SLICESORT_INLINE void transpose_square(Lane const* from, std::ptrdiff_t from_pitch, Lane* to,
                                       std::ptrdiff_t to_pitch) {
  transpose_rows<V>(from, from_pitch, to, to_pitch,
                    std::make_index_sequence<sizeof(V) / sizeof(Lane)>{});
}
