// SPDX-License-Identifier: Apache-2.0
// Transposes a square of lanes in registers. Included by vectors.inl, once per instruction set.

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
