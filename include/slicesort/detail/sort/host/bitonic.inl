// SPDX-License-Identifier: Apache-2.0
// Merge sort over the rows of a tile, by bitonic merges. The first level of a merge is mirrored, so
// every comparator puts the smaller row first. Comparators with a row past the end would never
// exchange and are skipped, so the cost follows the length, not the next power of two. One pass
// over memory applies up to `Row::fused` levels in registers. Row i is stored at row_at(i).
// Included once per instruction set, after rows.inl.

template <class Row>
struct bitonic {
  static constexpr int fused = Row::fused;
  static constexpr std::size_t pass_rows = std::size_t{1} << fused;

  // Sorts n rows that consist of sorted runs of `sorted_rows` rows: 1, or a power of two of at
  // least `pass_rows`.
  static void sort(Row* rows, std::size_t n, std::size_t sorted_rows = 1) {
    if (n <= sorted_rows) return;
    if (n <= pass_rows) {
      sort_rows(rows, n, indices<fused>{});
      return;
    }
    std::size_t half = pass_rows;
    while (2 * half < n) half *= 2;
    sort(rows, half, sorted_rows);
    sort(rows + at(half), n - half, sorted_rows);
    int const q = first_levels(levels_of(half) + 1);
    if (q == 1) merge<1>(rows, n, half);
    if (q == 2) merge<2>(rows, n, half);
    if constexpr (fused >= 3)
      if (q == 3) merge<3>(rows, n, half);
    if constexpr (fused >= 4)
      if (q == 4) merge<4>(rows, n, half);
  }

 private:
  static constexpr std::size_t at(std::size_t i) { return row_at<Row>(i); }
  // End of the rows from r on that are stored without a gap, at most `last`. A mirrored pass over
  // more rows begins and ends at a gap.
  static constexpr std::size_t contiguous_end(std::size_t r, std::size_t last) {
    std::size_t const end = (r | (contiguous_rows<Row> - 1)) + 1;
    return end < last ? end : last;
  }

  template <int Q>
  using indices = std::make_index_sequence<std::size_t{1} << Q>;

  // Batcher's odd-even merge sort (Knuth, TAOCP vol. 3, 5.3.4): needs fewer comparators than a
  // bitonic sort.
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

  template <std::size_t... At>
  static void sort_rows(Row* rows, std::size_t n, std::index_sequence<At...>) {
    Row x[pass_rows] = {(At < n ? rows[At] : Row::last())...};
    odd_even_sort<0, pass_rows>(x);
    ((At < n ? void(rows[At] = x[At]) : void()), ...);
  }

  // Applies Q levels of half-cleaners to 2^Q rows at distance `s`.
  template <int Q, std::size_t... At>
  static SLICESORT_INLINE void clean_rows(Row* rows, std::size_t s, std::index_sequence<At...>) {
    Row x[sizeof...(At)] = {rows[At * s]...};
    half_clean<Q>(x);
    ((rows[At * s] = x[At]), ...);
  }
  // Like clean_rows, for a sequence with only `valid` rows.
  template <int Q, std::size_t... At>
  static void clean_partial_rows(Row* rows, std::size_t s, std::size_t valid,
                                 std::index_sequence<At...>) {
    Row x[sizeof...(At)] = {(At < valid ? rows[At * s] : Row::last())...};
    half_clean<Q>(x);
    ((At < valid ? void(rows[At * s] = x[At]) : void()), ...);
  }

  // Applies Q levels to a bitonic sequence of `size` rows (a power of two), of which the first n
  // exist.
  template <int Q>
  static void clean_pass(Row* rows, std::size_t n, std::size_t size) {
    std::size_t const s = size >> Q, before_last = size - s;
    std::size_t const whole = n > before_last ? n - before_last : 0;
    for (std::size_t r = 0; r < whole;) {
      std::size_t const end = contiguous_end(r, whole);
      for (Row* row = rows + at(r); r < end; ++r, ++row) clean_rows<Q>(row, at(s), indices<Q>{});
    }
    for (std::size_t r = whole; r < s && r < n; ++r)
      clean_partial_rows<Q>(rows + at(r), at(s), (n - r + s - 1) / s, indices<Q>{});
  }
  // Applies all levels.
  static void clean(Row* rows, std::size_t n, std::size_t size) {
    while (size > 1 && n <= size / 2) size /= 2;  // the upper half is empty
    if (n < 2) return;
    int const levels = levels_of(size), q = first_levels(levels);
    if (q == 1) clean_pass<1>(rows, n, size);
    if (q == 2) clean_pass<2>(rows, n, size);
    if constexpr (fused >= 3)
      if (q == 3) clean_pass<3>(rows, n, size);
    if constexpr (fused >= 4)
      if (q == 4) clean_pass<4>(rows, n, size);
    clean_parts(rows, n, size >> q);
  }
  // Applies all levels to each bitonic sequence of s rows in [0, n).
  static void clean_parts(Row* rows, std::size_t n, std::size_t s) {
    if (s == 1) return;
    if (s == pass_rows) {
      std::size_t b = 0;
      for (; b + pass_rows <= n; b += pass_rows)
        clean_rows<fused>(rows + at(b), 1, indices<fused>{});
      if (b < n) clean_partial_rows<fused>(rows + at(b), 1, n - b, indices<fused>{});
      return;
    }
    for (std::size_t b = 0; b < n; b += s) clean(rows + at(b), n - b < s ? n - b : s, s);
  }

  // Applies the first Q levels of a merge to 2^Q rows: `low` and the rows at distances s, 2s, ...
  // after it are compared with their mirror images, `high` and the rows after it.
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
  // Like mirror_rows, with only `valid` rows in the upper half.
  template <int Q, std::size_t... At>
  static void mirror_partial_rows(Row* low, Row* high, std::size_t s, std::size_t valid,
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
  // first pass applies Q levels.
  template <int Q>
  static void merge(Row* rows, std::size_t n, std::size_t half) {
    std::size_t const s = 2 * half >> Q, missing = 2 * half - n,
                      partial = missing < s ? missing : s;
    for (std::size_t r = 0; r < partial; ++r) {
      std::size_t const first = half + (s - 1 - r), valid = n > first ? (n - first + s - 1) / s : 0;
      mirror_partial_rows<Q>(rows + at(r), rows + at(first), at(s), valid, indices<Q - 1>{});
    }
    for (std::size_t r = partial; r < s;) {
      std::size_t const end = contiguous_end(r, s);
      Row *low = rows + at(r), *high = rows + at(half + (s - 1 - r));
      for (; r < end; ++r, ++low, --high) mirror_rows<Q>(low, high, at(s), indices<Q - 1>{});
    }
    clean_parts(rows, n, s);
  }

  static int levels_of(std::size_t size) {
    int levels = 0;
    while (size > 1) size >>= 1, ++levels;
    return levels;
  }
  // Levels of the first pass; every later pass applies `fused` levels.
  static int first_levels(int levels) { return levels % fused == 0 ? fused : levels % fused; }
};
