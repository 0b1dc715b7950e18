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
  V first = broadcast<V>(0u), before = first;
  for (std::size_t i = 0; i < n; ++i) {
    wide_pairs const& r = w[row_at<wide_pairs>(i)];
    V const key = part == 0 ? r.key : r.key_high;
    first = select(equal(key, before), first, broadcast<V>(static_cast<std::uint32_t>(i)));
    before = key;
    out[row_at<keys<std::uint32_t>>(i)].key = first << 16 | wide_codec<float>::index_half(r, part);
  }
}
inline void adopt_indices(keys<std::uint32_t> const* from, std::size_t n, int part, wide_pairs* w) {
  for (std::size_t i = 0; i < n; ++i)
    store_lanes(reinterpret_cast<char*>(&w[row_at<wide_pairs>(i)].index) + 32 * part,
                convert<vec<std::uint16_t, 16>>(from[row_at<keys<std::uint32_t>>(i)].key));
}
inline constexpr int composite_parts(wide_pairs const*) { return 2; }
