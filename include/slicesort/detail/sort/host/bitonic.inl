// SPDX-License-Identifier: Apache-2.0
// Sorting network over the rows of a tile: merge sort by bitonic merges whose first level is
// mirrored, so that every comparator puts the smaller row first. A comparator with a row past the
// end would never exchange, so it is left out: the cost follows the length, not the next power of
// two. A pass over memory does up to `Row::fused` levels in registers. Row i lies at row_at(i).
// Included once per instruction set, after rows.inl.

template <class Row>
struct bitonic {
  static constexpr int fused = Row::fused;
  static constexpr std::size_t block = std::size_t{1} << fused;

  // Sorts n rows, of which runs of `sorted` rows are sorted already: 1, or a power of two of at
  // least `block`.
  static void sort(Row* w, std::size_t n, std::size_t sorted = 1) {
    if (n <= sorted) return;
    if (n <= block) {
      sort_rows(w, n, indices<fused>{});
      return;
    }
    std::size_t half = block;
    while (2 * half < n) half *= 2;
    sort(w, half, sorted);
    sort(w + at(half), n - half, sorted);
    int const q = first_levels(levels_of(half) + 1);
    if (q == 1) merge<1>(w, n, half);
    if (q == 2) merge<2>(w, n, half);
    if constexpr (fused >= 3)
      if (q == 3) merge<3>(w, n, half);
    if constexpr (fused >= 4)
      if (q == 4) merge<4>(w, n, half);
  }

 private:
  static constexpr std::size_t at(std::size_t i) { return row_at<Row>(i); }
  // Rows from r on lie together up to there, or to `last`. Mirrored, they do as well: a pass of
  // more than a run begins and ends with a whole one.
  static constexpr std::size_t end_of_run(std::size_t r, std::size_t last) {
    std::size_t const end = (r | (rows_of_run<Row> - 1)) + 1;
    return end < last ? end : last;
  }

  template <int Q>
  using indices = std::make_index_sequence<std::size_t{1} << Q>;

  // --- networks within registers: constant indices only, so the rows stay out of memory ---

  // Batcher's odd-even merge sort (Knuth, TAOCP vol. 3, 5.3.4): fewer comparators than bitonic.
  template <std::size_t Low, std::size_t Count>
  static SLICESORT_INLINE void odd_even_sort(Row* x) {
    if constexpr (Count > 1) {
      odd_even_sort<Low, Count / 2>(x);
      odd_even_sort<Low + Count / 2, Count / 2>(x);
      odd_even_merge<Low, Count, 1>(x);
    }
  }
  template <std::size_t Low, std::size_t Count, std::size_t Step>
  static SLICESORT_INLINE void odd_even_merge(Row* x) {
    if constexpr (2 * Step < Count) {
      odd_even_merge<Low, Count, 2 * Step>(x);
      odd_even_merge<Low + Step, Count, 2 * Step>(x);
      odd_even_level<Low, Step>(x, std::make_index_sequence<Count / (2 * Step) - 1>{});
    } else {
      Row::compare_exchange(x[Low], x[Low + Step]);
    }
  }
  template <std::size_t Low, std::size_t Step, std::size_t... At>
  static SLICESORT_INLINE void odd_even_level(Row* x, std::index_sequence<At...>) {
    (Row::compare_exchange(x[Low + Step + 2 * Step * At], x[Low + 2 * Step + 2 * Step * At]), ...);
  }

  // Half-cleaners over 2^Q rows.
  template <int Q>
  static SLICESORT_INLINE void half_clean(Row* x) {
    if constexpr (Q > 0) {
      half_level<(std::size_t{1} << Q) / 2>(x, indices<Q - 1>{});
      half_clean<Q - 1>(x);
      half_clean<Q - 1>(x + (std::size_t{1} << Q) / 2);
    }
  }
  template <std::size_t Half, std::size_t... At>
  static SLICESORT_INLINE void half_level(Row* x, std::index_sequence<At...>) {
    (Row::compare_exchange(x[At], x[At + Half]), ...);
  }

  // --- passes over memory ---

  template <std::size_t... At>
  static void sort_rows(Row* w, std::size_t n, std::index_sequence<At...>) {
    Row x[block] = {(At < n ? w[At] : Row::last())...};
    odd_even_sort<0, block>(x);
    ((At < n ? void(w[At] = x[At]) : void()), ...);
  }

  // Q levels of half-cleaners over 2^Q rows that lie `s` apart.
  template <int Q, std::size_t... At>
  static SLICESORT_INLINE void clean_rows(Row* w, std::size_t s, std::index_sequence<At...>) {
    Row x[sizeof...(At)] = {w[At * s]...};
    half_clean<Q>(x);
    ((w[At * s] = x[At]), ...);
  }
  // clean_rows where only the first `valid` rows exist.
  template <int Q, std::size_t... At>
  static void clean_some_rows(Row* w, std::size_t s, std::size_t valid,
                              std::index_sequence<At...>) {
    Row x[sizeof...(At)] = {(At < valid ? w[At * s] : Row::last())...};
    half_clean<Q>(x);
    ((At < valid ? void(w[At * s] = x[At]) : void()), ...);
  }

  // Q levels over a bitonic sequence of m rows (a power of two), of which the first n exist.
  template <int Q>
  static void clean_pass(Row* w, std::size_t n, std::size_t m) {
    std::size_t const s = m >> Q, before_last = m - s;
    std::size_t const whole = n > before_last ? n - before_last : 0;
    for (std::size_t r = 0; r < whole;) {
      std::size_t const end = end_of_run(r, whole);
      for (Row* row = w + at(r); r < end; ++r, ++row) clean_rows<Q>(row, at(s), indices<Q>{});
    }
    for (std::size_t r = whole; r < s && r < n; ++r)
      clean_some_rows<Q>(w + at(r), at(s), (n - r + s - 1) / s, indices<Q>{});
  }
  // All levels over a bitonic sequence of m rows (a power of two), of which the first n exist.
  static void clean(Row* w, std::size_t n, std::size_t m) {
    while (m > 1 && n <= m / 2) m /= 2;  // nothing to compare with
    if (n < 2) return;
    int const levels = levels_of(m), q = first_levels(levels);
    if (q == 1) clean_pass<1>(w, n, m);
    if (q == 2) clean_pass<2>(w, n, m);
    if constexpr (fused >= 3)
      if (q == 3) clean_pass<3>(w, n, m);
    if constexpr (fused >= 4)
      if (q == 4) clean_pass<4>(w, n, m);
    clean_parts(w, n, m >> q);
  }
  // All levels over each bitonic sequence of s rows that [0, n) consists of.
  static void clean_parts(Row* w, std::size_t n, std::size_t s) {
    if (s == 1) return;
    if (s == block) {
      std::size_t b = 0;
      for (; b + block <= n; b += block) clean_rows<fused>(w + at(b), 1, indices<fused>{});
      if (b < n) clean_some_rows<fused>(w + at(b), 1, n - b, indices<fused>{});
      return;
    }
    for (std::size_t b = 0; b < n; b += s) clean(w + at(b), n - b < s ? n - b : s, s);
  }

  // The first Q levels of a merge, for 2^Q rows: `low` and those s, 2s, .. after it, compared with
  // their mirror images in the upper half, `high` and those after it.
  template <int Q, std::size_t... At>
  static SLICESORT_INLINE void mirror_rows(Row* low, Row* high, std::size_t s,
                                           std::index_sequence<At...>) {
    constexpr std::size_t half = sizeof...(At);
    Row x[2 * half] = {low[At * s]..., high[At * s]...};
    (Row::compare_exchange(x[At], x[2 * half - 1 - At]), ...);
    half_clean<Q - 1>(x);
    half_clean<Q - 1>(x + half);
    ((low[At * s] = x[At]), ...);
    ((high[At * s] = x[half + At]), ...);
  }
  // mirror_rows where only the first `valid` rows of the upper half exist.
  template <int Q, std::size_t... At>
  static void mirror_some_rows(Row* low, Row* high, std::size_t s, std::size_t valid,
                               std::index_sequence<At...>) {
    constexpr std::size_t half = sizeof...(At);
    Row x[2 * half] = {low[At * s]..., (At < valid ? high[At * s] : Row::last())...};
    (Row::compare_exchange(x[At], x[2 * half - 1 - At]), ...);
    half_clean<Q - 1>(x);
    half_clean<Q - 1>(x + half);
    ((low[At * s] = x[At]), ...);
    ((At < valid ? void(high[At * s] = x[half + At]) : void()), ...);
  }
  // Merges two sorted runs: the first `half` rows (a power of two) and the n - half after them. The
  // first pass over memory does Q levels.
  template <int Q>
  static void merge(Row* w, std::size_t n, std::size_t half) {
    std::size_t const s = 2 * half >> Q, missing = 2 * half - n,
                      partial = missing < s ? missing : s;
    for (std::size_t r = 0; r < partial; ++r) {
      std::size_t const first = half + (s - 1 - r), valid = n > first ? (n - first + s - 1) / s : 0;
      mirror_some_rows<Q>(w + at(r), w + at(first), at(s), valid, indices<Q - 1>{});
    }
    for (std::size_t r = partial; r < s;) {
      std::size_t const end = end_of_run(r, s);
      Row *low = w + at(r), *high = w + at(half + (s - 1 - r));
      for (; r < end; ++r, ++low, --high) mirror_rows<Q>(low, high, at(s), indices<Q - 1>{});
    }
    clean_parts(w, n, s);
  }

  static int levels_of(std::size_t m) {
    int levels = 0;
    while (m > 1) m >>= 1, ++levels;
    return levels;
  }
  // Levels of the first pass: what is left over when every later pass does `fused`.
  static int first_levels(int levels) { return levels % fused == 0 ? fused : levels % fused; }
};
