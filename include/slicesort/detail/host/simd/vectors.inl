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
// clang-format on

// --- stores, through the cache or around it (`Stream`) ---

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

// Makes streamed stores visible to other threads before the work is reported as done.
template <bool Stream>
SLICESORT_INLINE void finish_streaming() {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream) __builtin_ia32_sfence();
#endif
}

// --- transposes of squares of lanes in registers ---

// One of log2(side) equal steps: rotates the bits of (row, lane) by one.
template <class V, std::size_t... Pair>
SLICESORT_INLINE void transpose_step(V* x, std::index_sequence<Pair...>) {
  constexpr std::size_t half = sizeof...(Pair);
  V t[2 * half];
  ((t[2 * Pair] = zip<false>(x[Pair], x[Pair + half]),
    t[2 * Pair + 1] = zip<true>(x[Pair], x[Pair + half])),
   ...);
  ((x[Pair] = t[Pair], x[Pair + half] = t[Pair + half]), ...);
}
// Lane j of row i becomes lane i of row j.
template <int Side, int Steps = Side, class V>
SLICESORT_INLINE void transpose(V* x) {
  if constexpr (Steps > 1) {
    transpose_step(x, std::make_index_sequence<std::size_t{Side} / 2>{});
    transpose<Side, Steps / 2>(x);
  }
}
// The same from memory to memory: lane r of row c of `to` becomes lane c of row r of `from`.
template <class V, class Lane, std::size_t... At>
SLICESORT_INLINE void transpose_rows(Lane const* from, std::ptrdiff_t from_pitch, Lane* to,
                                     std::ptrdiff_t to_pitch, std::index_sequence<At...>) {
  V x[] = {load_lanes<V>(from + static_cast<std::ptrdiff_t>(At) * from_pitch)...};
  transpose<static_cast<int>(sizeof...(At))>(x);
  (store_lanes(to + static_cast<std::ptrdiff_t>(At) * to_pitch, x[At]), ...);
}
template <class V, class Lane>
SLICESORT_INLINE void transpose_square(Lane const* from, std::ptrdiff_t from_pitch, Lane* to,
                                       std::ptrdiff_t to_pitch) {
  transpose_rows<V>(from, from_pitch, to, to_pitch,
                    std::make_index_sequence<sizeof(V) / sizeof(Lane)>{});
}
