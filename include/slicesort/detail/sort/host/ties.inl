// SPDX-License-Identifier: Apache-2.0
// Makes sorts stable. A network leaves the indices of equal keys in any order; these functions sort
// them within each run of equal keys. A few ties are sorted by insertion, many by a second sort of
// composites (first row of the run | index), which costs less than the first sort. Included once
// per instruction set, after codec.inl and bitonic.inl.

// Exchanges the indices of two neighboring rows where the keys are equal and the indices out of
// order. Returns true if any lane was exchanged.
template <class Row>
SLICESORT_INLINE bool exchange_ties(Row& a, Row& b) {
  auto const swap_mask = Row::inverted_ties(a, b);
  if (!any_set(swap_mask)) return false;
  Row::swap_indices(swap_mask, a, b);
  return true;
}

// Computes the composites of all rows. The upper half of a composite is the first row of the run,
// so sorting the composites keeps every index in its run.
template <class Lane>
void compose_ties(pairs<Lane> const* rows, std::size_t n, int, keys<Lane>* composites) {
  using V = typename pairs<Lane>::vector;
  constexpr int index_bits = 4 * sizeof(Lane);
  V first = broadcast<V>(Lane{0}), previous = first;
  for (std::size_t i = 0; i < n; ++i) {
    pairs<Lane> const& row = rows[row_at<pairs<Lane>>(i)];
    first = select(equal(row.key, previous), first, broadcast<V>(static_cast<Lane>(i)));
    previous = row.key;
    composites[row_at<keys<Lane>>(i)].key = first << index_bits | row.index;
  }
}
template <class Lane>
void extract_indices(keys<Lane> const* composites, std::size_t n, int, pairs<Lane>* rows) {
  using V = typename pairs<Lane>::vector;
  constexpr int index_bits = 4 * sizeof(Lane);
  for (std::size_t i = 0; i < n; ++i)
    rows[row_at<pairs<Lane>>(i)].index =
        composites[row_at<keys<Lane>>(i)].key &
        broadcast<V>(static_cast<Lane>((Lane{1} << index_bits) - 1));
}
template <class Lane>
inline constexpr int composite_vectors_per_row(pairs<Lane> const*) {
  return 1;
}

// Overloads for the AVX-512 row of 32-bit keys, whose composites fill two vectors: one per half of
// 16 columns.
#if SLICESORT_VECTOR_BYTES == 64
inline void compose_ties(wide_pairs const* rows, std::size_t n, int half,
                         keys<std::uint32_t>* composites) {
  using V = wide_pairs::vector;
  V first = broadcast<V>(0u), previous = first;
  for (std::size_t i = 0; i < n; ++i) {
    wide_pairs const& row = rows[row_at<wide_pairs>(i)];
    V const key = half == 0 ? row.key : row.key_high;
    first = select(equal(key, previous), first, broadcast<V>(static_cast<std::uint32_t>(i)));
    previous = key;
    composites[row_at<keys<std::uint32_t>>(i)].key =
        first << 16 | wide_codec<float>::index_half(row, half);
  }
}
inline void extract_indices(keys<std::uint32_t> const* composites, std::size_t n, int half,
                            wide_pairs* rows) {
  for (std::size_t i = 0; i < n; ++i)
    store_lanes(reinterpret_cast<char*>(&rows[row_at<wide_pairs>(i)].index) + 32 * half,
                convert<vec<std::uint16_t, 16>>(composites[row_at<keys<std::uint32_t>>(i)].key));
}
inline constexpr int composite_vectors_per_row(wide_pairs const*) { return 2; }
#endif

template <class Row>
void sort_tied_indices(Row* rows, std::size_t n, void* scratch) {
  auto* const composites = static_cast<keys<typename Row::lane>*>(scratch);
  for (int half = 0; half < composite_vectors_per_row(rows); ++half) {
    compose_ties(rows, n, half, composites);
    bitonic<keys<typename Row::lane>>::sort(composites, n);
    extract_indices(composites, n, half, rows);
  }
}

// Makes the sort of `n` rows stable. Insertion is quadratic in the length of a run: after `budget`
// exchanges it falls back to the second sort.
template <class Row>
void repair_ties(Row* rows, std::size_t n, void* scratch) {
  constexpr std::size_t rows_per_check = 16;
  constexpr std::size_t (*row_position)(std::size_t) = row_at<Row>;
  std::size_t budget = n / 16 + 16;
  Row const* previous = rows;
  for (std::size_t i = 0; i < n; i += rows_per_check) {
    std::size_t const end = i + rows_per_check < n ? i + rows_per_check : n;
    Row const* row = rows + row_position(i);  // 16 consecutive rows are contiguous
    auto inversions = Row::inverted_ties(*previous, *row);
    for (std::size_t k = i + 1; k < end; ++k, ++row)
      inversions = inversions | Row::inverted_ties(row[0], row[1]);
    previous = row;
    if (!any_set(inversions)) continue;
    for (std::size_t k = i > 0 ? i : 1; k < end; ++k)
      for (std::size_t j = k;
           j > 0 && exchange_ties(rows[row_position(j - 1)], rows[row_position(j)]); --j)
        if (--budget == 0) return sort_tied_indices(rows, n, scratch);
  }
}
