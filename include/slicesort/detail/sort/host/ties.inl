// SPDX-License-Identifier: Apache-2.0
// Stability. A network leaves the indices of equal keys in any order; here they are sorted within
// each run of equal keys. A few are sorted by insertion; many by a second sort, of composites
// (first row of the run | index), which costs less than the first sort. Included once per
// instruction set, after codec.inl and bitonic.inl.

// Puts the indices of two neighboring rows, a before b, in order where the keys are equal. Returns
// whether any had to be exchanged.
template <class Lane>
SLICESORT_INLINE bool exchange_ties(pairs<Lane>& a, pairs<Lane>& b) {
  using V = typename pairs<Lane>::vector;
  V const swap = equal(a.key, b.key) & greater(a.index, b.index);
  if (!any_set(swap)) return false;
  V const index = select(swap, b.index, a.index);
  b.index = select(swap, a.index, b.index);
  a.index = index;
  return true;
}
// Not zero in the lanes whose indices exchange_ties would exchange: cheaper, and flags can be
// or-ed.
template <class Lane>
SLICESORT_INLINE typename pairs<Lane>::vector tie_flags(pairs<Lane> const& a,
                                                        pairs<Lane> const& b) {
  return equal(a.key, b.key) & greater(a.index, b.index);
}

// Forms the composites of one part of a row's columns. A composite's upper half is the first row of
// the run, so sorting composites moves no index out of its run.
template <class Lane>
void compose_ties(pairs<Lane> const* w, std::size_t n, int, keys<Lane>* out) {
  using V = typename pairs<Lane>::vector;
  constexpr int half = 4 * sizeof(Lane);
  V first = broadcast<V>(Lane{0}), before = first;
  for (std::size_t i = 0; i < n; ++i) {
    pairs<Lane> const& r = w[row_at<pairs<Lane>>(i)];
    first = select(equal(r.key, before), first, broadcast<V>(static_cast<Lane>(i)));
    before = r.key;
    out[row_at<keys<Lane>>(i)].key = first << half | r.index;
  }
}
// Takes the indices of one part from its sorted composites.
template <class Lane>
void adopt_indices(keys<Lane> const* from, std::size_t n, int, pairs<Lane>* w) {
  using V = typename pairs<Lane>::vector;
  constexpr int half = 4 * sizeof(Lane);
  for (std::size_t i = 0; i < n; ++i)
    w[row_at<pairs<Lane>>(i)].index =
        from[row_at<keys<Lane>>(i)].key & broadcast<V>(static_cast<Lane>((Lane{1} << half) - 1));
}
// How many parts the composites of a row come in.
template <class Lane>
inline constexpr int composite_parts(pairs<Lane> const*) {
  return 1;
}

// The functions above for the row of 32-bit keys that AVX-512 has: flags are a bit per column, and
// composites come in two parts of 16 columns.
#if SLICESORT_VECTOR_BYTES == 64
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
#endif

template <class Row>
void sort_tied_indices(Row* w, std::size_t n, void* scratch) {
  auto* const composites = static_cast<keys<typename Row::lane>*>(scratch);
  for (int part = 0; part < composite_parts(w); ++part) {
    compose_ties(w, n, part, composites);
    bitonic<keys<typename Row::lane>>::sort(composites, n);
    adopt_indices(composites, n, part, w);
  }
}

// Makes the sort of `n` rows stable. Insertion is quadratic in the length of a run, so it may take
// `budget` exchanges; then a second sort takes over.
template <class Row>
void repair_ties(Row* w, std::size_t n, void* scratch) {
  constexpr std::size_t step = 16;
  constexpr std::size_t (*at)(std::size_t) = row_at<Row>;
  std::size_t budget = n / 16 + 16;
  Row const* before = w;
  for (std::size_t i = 0; i < n; i += step) {
    std::size_t const end = i + step < n ? i + step : n;
    Row const* r = w + at(i);  // the rows of a step lie together
    auto flagged = tie_flags(*before, *r);
    for (std::size_t k = i + 1; k < end; ++k, ++r) flagged = flagged | tie_flags(r[0], r[1]);
    before = r;
    if (!any_set(flagged)) continue;
    for (std::size_t k = i > 0 ? i : 1; k < end; ++k)
      for (std::size_t j = k; j > 0 && exchange_ties(w[at(j - 1)], w[at(j)]); --j)
        if (--budget == 0) return sort_tied_indices(w, n, scratch);
  }
}
