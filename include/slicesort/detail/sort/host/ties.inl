// SPDX-License-Identifier: Apache-2.0
// Stability. The networks of pairs leave equal keys with their indices in any order; here each run
// of equal keys gets its indices sorted. Few ties are put right in place, many by a second sort of
// (first row of the run | index) composites, which costs less than the first. Included once per
// instruction set.

// Makes rows a, b (neighbors, a.key <= b.key) stable by exchanging indices; were there any to
// exchange?
template <class Lane>
SLICESORT_INLINE bool exchange_ties(pairs<Lane>& a, pairs<Lane>& b) {
  using V = typename pairs<Lane>::vector;
  V const swap = equal(a.key, b.key) & greater(a.index, b.index);
  if (!any(swap)) return false;
  V const index = select(swap, b.index, a.index);
  b.index = select(swap, a.index, b.index);
  a.index = index;
  return true;
}
// All ones in some lane where a, b are out of order; cheap to accumulate.
template <class Lane>
SLICESORT_INLINE typename pairs<Lane>::vector tie_flags(pairs<Lane> const& a,
                                                        pairs<Lane> const& b) {
  return equal(a.key, b.key) & greater(a.index, b.index);
}

// Composites of one part: the sort key is the first row of the run, so the keys stay where they
// are.
template <class Lane>
void compose_ties(pairs<Lane> const* w, std::size_t n, int, keys<Lane>* out) {
  using V = typename pairs<Lane>::vector;
  constexpr int half = 4 * sizeof(Lane);
  V first = broadcast<V>(Lane{0});
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0)
      first = select(equal(w[i].key, w[i - 1].key), first, broadcast<V>(static_cast<Lane>(i)));
    out[i].key = first << half | w[i].index;
  }
}
template <class Lane>
void adopt_indices(keys<Lane> const* from, std::size_t n, int, pairs<Lane>* w) {
  using V = typename pairs<Lane>::vector;
  constexpr int half = 4 * sizeof(Lane);
  for (std::size_t i = 0; i < n; ++i)
    w[i].index = from[i].key & broadcast<V>(static_cast<Lane>((Lane{1} << half) - 1));
}
template <class Lane>
inline constexpr int composite_parts(pairs<Lane> const*) {
  return 1;
}

template <class Row>
void sort_tied_indices(Row* w, std::size_t n, void* scratch) {
  auto* const composites = static_cast<keys<typename Row::lane>*>(scratch);
  for (int part = 0; part < composite_parts(w); ++part) {
    compose_ties(w, n, part, composites);
    network<keys<typename Row::lane>>::sort(composites, n);
    adopt_indices(composites, n, part, w);
  }
}

// Insertion is quadratic in the length of a run, so it may take only this many exchanges.
template <class Row>
void repair_ties(Row* w, std::size_t n, void* scratch) {
  constexpr std::size_t step = 16;
  std::size_t budget = n / 16 + 16;
  for (std::size_t i = 1; i < n; i += step) {
    std::size_t const end = i + step < n ? i + step : n;
    auto flagged = tie_flags(w[i - 1], w[i]);
    for (std::size_t k = i + 1; k < end; ++k) flagged = flagged | tie_flags(w[k - 1], w[k]);
    if (!any(flagged)) continue;
    for (std::size_t k = i; k < end; ++k)
      for (std::size_t j = k; j > 0 && exchange_ties(w[j - 1], w[j]); --j)
        if (--budget == 0) return sort_tied_indices(w, n, scratch);
  }
}
