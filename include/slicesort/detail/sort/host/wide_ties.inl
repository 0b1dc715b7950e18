// SPDX-License-Identifier: Apache-2.0
// The functions of ties.inl for `wide_pairs`: flags are a bit per column, and composites come in
// two parts of 16 columns. Included by ties.inl, for AVX-512 only.

SLICESORT_INLINE bool exchange_ties(wide_pairs& a, wide_pairs& b) {
  mask32 const swap = wide_pairs::inverted(a, b);
  if (swap == 0) return false;
  wide_pairs::swap_indices(swap, a, b);
  return true;
}
SLICESORT_INLINE mask32 tie_flags(wide_pairs const& a, wide_pairs const& b) {
  return wide_pairs::inverted(a, b);
}

inline void compose_ties(wide_pairs const* w, std::size_t n, int part, keys<std::uint32_t>* out) {
  using V = wide_pairs::vector;
  V first = broadcast<V>(0u);
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) {
      V const same =
          part == 0 ? equal(w[i].key, w[i - 1].key) : equal(w[i].key_high, w[i - 1].key_high);
      first = select(same, first, broadcast<V>(static_cast<std::uint32_t>(i)));
    }
    out[i].key = first << 16 | wide_codec<float>::index_half(w[i], part);
  }
}
inline void adopt_indices(keys<std::uint32_t> const* from, std::size_t n, int part, wide_pairs* w) {
  for (std::size_t i = 0; i < n; ++i)
    store_lanes(reinterpret_cast<char*>(&w[i].index) + 32 * part,
                convert<vec<std::uint16_t, 16>>(from[i].key));
}
inline constexpr int composite_parts(wide_pairs const*) { return 2; }
