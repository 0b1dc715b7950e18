// SPDX-License-Identifier: Apache-2.0
// Transposes squares of lanes in registers. Included by vectors.inl, once per instruction set.

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
