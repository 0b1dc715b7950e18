// SPDX-License-Identifier: Apache-2.0
// Merge sort over the rows of a tile, by bitonic merges. The first level of a merge is mirrored, so
// every comparator puts the smaller row first. Comparators with a row past the end would never
// exchange and are skipped, so the cost follows the length, not the next power of two. One pass
// over memory applies up to `Row::levels_per_pass` levels in registers. Row i is stored at
// row_at(i).
// Included once per instruction set, after rows.inl.

template <class Row>
struct bitonic {
  static constexpr int levels_per_pass = Row::levels_per_pass;
  static constexpr std::size_t pass_rows = std::size_t{1} << levels_per_pass;

  // Sorts n rows that consist of sorted runs of `sorted_rows` rows: 1, or a power of two of at
  // least `pass_rows`.
  static void sort(Row* rows, std::size_t n, std::size_t sorted_rows = 1) {
    if (n <= sorted_rows) return;
    if (n <= pass_rows) {
      sort_rows(rows, n, indices<levels_per_pass>{});
      return;
    }
    std::size_t half = pass_rows;
    while (2 * half < n) half *= 2;
    sort(rows, half, sorted_rows);
    sort(rows + at(half), n - half, sorted_rows);
    int const pass_levels = first_pass_levels(log2_of_size(half) + 1);
    if (pass_levels == 1) merge<1>(rows, n, half);
    if (pass_levels == 2) merge<2>(rows, n, half);
    if constexpr (levels_per_pass >= 3)
      if (pass_levels == 3) merge<3>(rows, n, half);
    if constexpr (levels_per_pass >= 4)
      if (pass_levels == 4) merge<4>(rows, n, half);
  }

  // Sorts a bitonic sequence of `size` rows (a power of two), of which the first n exist.
  static void clean(Row* rows, std::size_t n, std::size_t size) {
    while (size > 1 && n <= size / 2) size /= 2;  // the upper half is empty
    if (n < 2) return;
    int const levels = log2_of_size(size), pass_levels = first_pass_levels(levels);
    if (pass_levels == 1) clean_pass<1>(rows, n, size);
    if (pass_levels == 2) clean_pass<2>(rows, n, size);
    if constexpr (levels_per_pass >= 3)
      if (pass_levels == 3) clean_pass<3>(rows, n, size);
    if constexpr (levels_per_pass >= 4)
      if (pass_levels == 4) clean_pass<4>(rows, n, size);
    clean_sequences(rows, n, size >> pass_levels);
  }

 private:
  static constexpr std::size_t at(std::size_t i) { return row_at<Row>(i); }
  // Returns the end of the rows from r on that are stored without a gap, at most `limit`. A
  // mirrored pass over more rows begins and ends at a gap.
  static constexpr std::size_t contiguous_end(std::size_t r, std::size_t limit) {
    std::size_t const end = (r | (contiguous_rows<Row> - 1)) + 1;
    return end < limit ? end : limit;
  }

  template <int Levels>
  using indices = std::make_index_sequence<std::size_t{1} << Levels>;

  // Batcher's odd-even merge sort (Knuth, TAOCP vol. 3, 5.3.4) needs fewer comparators than a
  // bitonic sort.
  template <std::size_t Low, std::size_t Count>
  static SLICESORT_INLINE void odd_even_sort(Row* registers) {
    if constexpr (Count > 1) {
      odd_even_sort<Low, Count / 2>(registers);
      odd_even_sort<Low + Count / 2, Count / 2>(registers);
      odd_even_merge<Low, Count, 1>(registers);
    }
  }
  template <std::size_t Low, std::size_t Count, std::size_t Step>
  static SLICESORT_INLINE void odd_even_merge(Row* registers) {
    if constexpr (2 * Step < Count) {
      odd_even_merge<Low, Count, 2 * Step>(registers);
      odd_even_merge<Low + Step, Count, 2 * Step>(registers);
      odd_even_level<Low, Step>(registers, std::make_index_sequence<Count / (2 * Step) - 1>{});
    } else {
      Row::compare_exchange(registers[Low], registers[Low + Step]);
    }
  }
  template <std::size_t Low, std::size_t Step, std::size_t... Indices>
  static SLICESORT_INLINE void odd_even_level(Row* registers, std::index_sequence<Indices...>) {
    (Row::compare_exchange(registers[Low + Step + 2 * Step * Indices],
                           registers[Low + 2 * Step + 2 * Step * Indices]),
     ...);
  }

  template <int Levels>
  static SLICESORT_INLINE void half_clean(Row* registers) {
    if constexpr (Levels > 0) {
      half_level<(std::size_t{1} << Levels) / 2>(registers, indices<Levels - 1>{});
      half_clean<Levels - 1>(registers);
      half_clean<Levels - 1>(registers + (std::size_t{1} << Levels) / 2);
    }
  }
  template <std::size_t Half, std::size_t... Indices>
  static SLICESORT_INLINE void half_level(Row* registers, std::index_sequence<Indices...>) {
    (Row::compare_exchange(registers[Indices], registers[Indices + Half]), ...);
  }

  template <std::size_t... Indices>
  static void sort_rows(Row* rows, std::size_t n, std::index_sequence<Indices...>) {
    Row registers[pass_rows] = {(Indices < n ? rows[Indices] : Row::last())...};
    odd_even_sort<0, pass_rows>(registers);
    ((Indices < n ? void(rows[Indices] = registers[Indices]) : void()), ...);
  }

  // Applies `Levels` levels of half-cleaners to 2^Levels rows that are `distance` apart.
  template <int Levels, std::size_t... Indices>
  static SLICESORT_INLINE void clean_rows(Row* rows, std::size_t distance,
                                          std::index_sequence<Indices...>) {
    Row registers[sizeof...(Indices)] = {rows[Indices * distance]...};
    half_clean<Levels>(registers);
    ((rows[Indices * distance] = registers[Indices]), ...);
  }
  // Like clean_rows, with only `valid` rows.
  template <int Levels, std::size_t... Indices>
  static void clean_partial_rows(Row* rows, std::size_t distance, std::size_t valid,
                                 std::index_sequence<Indices...>) {
    Row registers[sizeof...(Indices)] = {
        (Indices < valid ? rows[Indices * distance] : Row::last())...};
    half_clean<Levels>(registers);
    ((Indices < valid ? void(rows[Indices * distance] = registers[Indices]) : void()), ...);
  }

  // Applies `Levels` levels to a bitonic sequence of `size` rows (a power of two), of which the
  // first n exist.
  template <int Levels>
  static void clean_pass(Row* rows, std::size_t n, std::size_t size) {
    std::size_t const distance = size >> Levels, before_last = size - distance;
    std::size_t const complete = n > before_last ? n - before_last : 0;
    for (std::size_t r = 0; r < complete;) {
      std::size_t const end = contiguous_end(r, complete);
      for (Row* row = rows + at(r); r < end; ++r, ++row)
        clean_rows<Levels>(row, at(distance), indices<Levels>{});
    }
    for (std::size_t r = complete; r < distance && r < n; ++r)
      clean_partial_rows<Levels>(rows + at(r), at(distance), (n - r + distance - 1) / distance,
                                 indices<Levels>{});
  }
  // Applies all levels to each bitonic sequence of `size` rows in [0, n).
  static void clean_sequences(Row* rows, std::size_t n, std::size_t size) {
    if (size == 1) return;
    if (size == pass_rows) {
      std::size_t first = 0;
      for (; first + pass_rows <= n; first += pass_rows)
        clean_rows<levels_per_pass>(rows + at(first), 1, indices<levels_per_pass>{});
      if (first < n)
        clean_partial_rows<levels_per_pass>(rows + at(first), 1, n - first,
                                            indices<levels_per_pass>{});
      return;
    }
    for (std::size_t first = 0; first < n; first += size)
      clean(rows + at(first), n - first < size ? n - first : size, size);
  }

  // Applies the first `Levels` levels of a merge to 2^Levels rows, which are `distance` apart: the
  // rows from `low` on are compared with their mirror images, the rows from `high` on.
  template <int Levels, std::size_t... Indices>
  static SLICESORT_INLINE void mirror_rows(Row* low, Row* high, std::size_t distance,
                                           std::index_sequence<Indices...>) {
    constexpr std::size_t half = sizeof...(Indices);
    Row registers[2 * half] = {low[Indices * distance]..., high[Indices * distance]...};
    (Row::compare_exchange(registers[Indices], registers[2 * half - 1 - Indices]), ...);
    half_clean<Levels - 1>(registers);
    half_clean<Levels - 1>(registers + half);
    ((low[Indices * distance] = registers[Indices]), ...);
    ((high[Indices * distance] = registers[half + Indices]), ...);
  }
  // Like mirror_rows, with only `valid` rows in the upper half.
  template <int Levels, std::size_t... Indices>
  static void mirror_partial_rows(Row* low, Row* high, std::size_t distance, std::size_t valid,
                                  std::index_sequence<Indices...>) {
    constexpr std::size_t half = sizeof...(Indices);
    Row registers[2 * half] = {low[Indices * distance]...,
                               (Indices < valid ? high[Indices * distance] : Row::last())...};
    (Row::compare_exchange(registers[Indices], registers[2 * half - 1 - Indices]), ...);
    half_clean<Levels - 1>(registers);
    half_clean<Levels - 1>(registers + half);
    ((low[Indices * distance] = registers[Indices]), ...);
    ((Indices < valid ? void(high[Indices * distance] = registers[half + Indices]) : void()), ...);
  }
  // Merges two sorted runs: the first `half` rows (a power of two) and the n - half after them. The
  // first pass applies `Levels` levels.
  template <int Levels>
  static void merge(Row* rows, std::size_t n, std::size_t half) {
    std::size_t const distance = 2 * half >> Levels, missing_rows = 2 * half - n,
                      partial_count = missing_rows < distance ? missing_rows : distance;
    for (std::size_t r = 0; r < partial_count; ++r) {
      std::size_t const first = half + (distance - 1 - r),
                        valid = n > first ? (n - first + distance - 1) / distance : 0;
      mirror_partial_rows<Levels>(rows + at(r), rows + at(first), at(distance), valid,
                                  indices<Levels - 1>{});
    }
    for (std::size_t r = partial_count; r < distance;) {
      std::size_t const end = contiguous_end(r, distance);
      Row *low = rows + at(r), *high = rows + at(half + (distance - 1 - r));
      for (; r < end; ++r, ++low, --high)
        mirror_rows<Levels>(low, high, at(distance), indices<Levels - 1>{});
    }
    clean_sequences(rows, n, distance);
  }

  static int log2_of_size(std::size_t size) {
    int levels = 0;
    while (size > 1) size >>= 1, ++levels;
    return levels;
  }
  // Levels of the first pass; every later pass applies `levels_per_pass`.
  static int first_pass_levels(int levels) {
    return levels % levels_per_pass == 0 ? levels_per_pass : levels % levels_per_pass;
  }
};
