// SPDX-License-Identifier: Apache-2.0
// Makes sorts stable. A network leaves the indices of equal keys in any order; these functions sort
// them within each run of equal keys. Short runs are sorted by insertion, many ties by a second
// sort of composites (first row of the run | index), which costs less than the first sort. Included
// once per instruction set, after codec.inl and bitonic.inl.

// Exchanges the indices of two neighboring rows where the keys are equal and the indices inverted.
// Returns true if any lane was exchanged.
template <class Row>
SLICESORT_INLINE bool exchange_ties(Row& a, Row& b) {
  auto const swap = Row::inverted(a, b);
  if (!any_set(swap)) return false;
  Row::swap_indices(swap, a, b);
  return true;
}

// Computes the composites of one part of the columns. Their upper half is the first row of the run,
// so sorting the composites keeps every index in its run.
template <class Lane>
void compose_ties(pairs<Lane> const* rows, std::size_t n, int, keys<Lane>* out) {
  using V = typename pairs<Lane>::vector;
  constexpr int half = 4 * sizeof(Lane);
  V first = broadcast<V>(Lane{0}), previous = first;
  for (std::size_t i = 0; i < n; ++i) {
    pairs<Lane> const& r = rows[row_at<pairs<Lane>>(i)];
    first = select(equal(r.key, previous), first, broadcast<V>(static_cast<Lane>(i)));
    previous = r.key;
    out[row_at<keys<Lane>>(i)].key = first << half | r.index;
  }
}
template <class Lane>
void adopt_indices(keys<Lane> const* composites, std::size_t n, int, pairs<Lane>* rows) {
  using V = typename pairs<Lane>::vector;
  constexpr int half = 4 * sizeof(Lane);
  for (std::size_t i = 0; i < n; ++i)
    rows[row_at<pairs<Lane>>(i)].index = composites[row_at<keys<Lane>>(i)].key &
                                         broadcast<V>(static_cast<Lane>((Lane{1} << half) - 1));
}
template <class Lane>
inline constexpr int composite_parts(pairs<Lane> const*) {
  return 1;
}

// Overloads for the AVX-512 row of 32-bit keys, whose composites have two parts of 16 columns.
#if SLICESORT_VECTOR_BYTES == 64
inline void compose_ties(wide_pairs const* rows, std::size_t n, int part,
                         keys<std::uint32_t>* out) {
  using V = wide_pairs::vector;
  V first = broadcast<V>(0u), previous = first;
  for (std::size_t i = 0; i < n; ++i) {
    wide_pairs const& r = rows[row_at<wide_pairs>(i)];
    V const key = part == 0 ? r.key : r.key_high;
    first = select(equal(key, previous), first, broadcast<V>(static_cast<std::uint32_t>(i)));
    previous = key;
    out[row_at<keys<std::uint32_t>>(i)].key = first << 16 | wide_codec<float>::index_half(r, part);
  }
}
inline void adopt_indices(keys<std::uint32_t> const* composites, std::size_t n, int part,
                          wide_pairs* rows) {
  for (std::size_t i = 0; i < n; ++i)
    store_lanes(reinterpret_cast<char*>(&rows[row_at<wide_pairs>(i)].index) + 32 * part,
                convert<vec<std::uint16_t, 16>>(composites[row_at<keys<std::uint32_t>>(i)].key));
}
inline constexpr int composite_parts(wide_pairs const*) { return 2; }
#endif

template <class Row>
void sort_tied_indices(Row* rows, std::size_t n, void* scratch) {
  auto* const composites = static_cast<keys<typename Row::lane>*>(scratch);
  for (int part = 0; part < composite_parts(rows); ++part) {
    compose_ties(rows, n, part, composites);
    bitonic<keys<typename Row::lane>>::sort(composites, n);
    adopt_indices(composites, n, part, rows);
  }
}

// Makes the sort of `n` rows stable. Insertion is quadratic in the length of a run: after `budget`
// exchanges it falls back to the second sort.
template <class Row>
void repair_ties(Row* rows, std::size_t n, void* scratch) {
  constexpr std::size_t step = 16;
  constexpr std::size_t (*position)(std::size_t) = row_at<Row>;
  std::size_t budget = n / 16 + 16;
  Row const* previous = rows;
  for (std::size_t i = 0; i < n; i += step) {
    std::size_t const end = i + step < n ? i + step : n;
    Row const* r = rows + position(i);  // consecutive rows of a step are contiguous
    auto flagged = Row::inverted(*previous, *r);
    for (std::size_t k = i + 1; k < end; ++k, ++r) flagged = flagged | Row::inverted(r[0], r[1]);
    previous = r;
    if (!any_set(flagged)) continue;
    for (std::size_t k = i > 0 ? i : 1; k < end; ++k)
      for (std::size_t j = k; j > 0 && exchange_ties(rows[position(j - 1)], rows[position(j)]); --j)
        if (--budget == 0) return sort_tied_indices(rows, n, scratch);
  }
}
