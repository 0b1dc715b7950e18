// SPDX-License-Identifier: Apache-2.0
// Sorts rows as one sequence, with its elements in all lanes. Every lane is sorted like a column of
// a tile, then the lanes are merged, and the sorted sequence is lane after lane. Included once per
// instruction set, after bitonic.inl.

// Moves lane i ^ Bits of a row to lane i.
template <std::size_t Bits, class Lane>
SLICESORT_INLINE keys<Lane> swap_lanes(keys<Lane> const& row) {
  return {swap_lanes<Bits>(row.key)};
}
template <std::size_t Bits, class Lane>
SLICESORT_INLINE pairs<Lane> swap_lanes(pairs<Lane> const& row) {
  return {swap_lanes<Bits>(row.key), swap_lanes<Bits>(row.index)};
}

// Keeps the larger of `row` and `partner` in the lanes of `upper`, and the smaller one elsewhere.
template <class Lane>
SLICESORT_INLINE void keep_sorted(keys<Lane>& row, keys<Lane> const& partner,
                                  typename keys<Lane>::vector const& upper) {
  row.key = select(upper, max_lanes(row.key, partner.key), min_lanes(row.key, partner.key));
}
template <class Lane>
SLICESORT_INLINE void keep_sorted(pairs<Lane>& row, pairs<Lane> const& partner,
                                  typename pairs<Lane>::vector const& upper) {
  auto const key = select(upper, max_lanes(row.key, partner.key), min_lanes(row.key, partner.key));
  row.index = select(equal(key, row.key), row.index, partner.index);
  row.key = key;
}

// Adds its number to the index of each lane.
template <class Lane>
SLICESORT_INLINE void number_lanes(keys<Lane>& row, typename keys<Lane>::vector const& lane) {
  row.key = row.key + lane;
}
template <class Lane>
SLICESORT_INLINE void number_lanes(pairs<Lane>& row, typename pairs<Lane>::vector const& lane) {
  row.index = row.index + lane;
}

// Sorts rows as one sequence, lane after lane.
template <class Row>
class lane_sort {
 public:
  using vector = typename Row::vector;
  static constexpr std::size_t lanes = static_cast<std::size_t>(Row::lanes);

  // Sorts n rows, a power of two of at least `lanes`.
  static void sort(Row* rows, std::size_t n) {
    bitonic<Row>::sort(rows, n);
    merge<2>(rows, n);
  }
  static vector lane_numbers() {
    alignas(64) typename Row::lane numbers[lanes];
    for (std::size_t i = 0; i < lanes; ++i) numbers[i] = static_cast<typename Row::lane>(i);
    return load_lanes<vector>(numbers);
  }

 private:
  // Merges the sorted sequences of every Width / 2 neighboring lanes. Mirrors the first level, as
  // bitonic.inl does.
  template <std::size_t Width>
  static void merge(Row* rows, std::size_t n) {
    if constexpr (Width <= lanes) {
      vector const lane = lane_numbers(), upper = upper_lanes<Width / 2>(lane);
      for (std::size_t r = 0; r < n / 2; ++r) {
        Row &low = rows[row_at<Row>(r)], &high = rows[row_at<Row>(n - 1 - r)];
        Row a = low, b = high;
        keep_sorted(a, swap_lanes<Width - 1>(high), upper);
        keep_sorted(b, swap_lanes<Width - 1>(low), upper);
        clean<Width / 4>(a, lane);
        clean<Width / 4>(b, lane);
        low = a, high = b;
      }
      bitonic<Row>::clean(rows, n, n);
      merge<2 * Width>(rows, n);
    }
  }
  template <std::size_t Distance>
  static SLICESORT_INLINE void clean(Row& row, vector const& lane) {
    if constexpr (Distance > 0) {
      keep_sorted(row, swap_lanes<Distance>(row), upper_lanes<Distance>(lane));
      clean<Distance / 2>(row, lane);
    }
  }
  template <std::size_t Distance>
  static SLICESORT_INLINE vector upper_lanes(vector const& lane) {
    vector const bit = broadcast<vector>(static_cast<typename Row::lane>(Distance));
    return equal(lane & bit, bit);
  }
};

// Rows of a sort, and their sorted sequence in contiguous memory.
template <class Codec>
struct lane_memory {
  using row_vector = typename Codec::row_vector;
  using lane = typename row_vector::lane;
  static constexpr std::size_t lanes = static_cast<std::size_t>(row_vector::lanes),
                               vectors_per_row =
                                   sizeof(row_vector) / sizeof(typename row_vector::vector);

  std::size_t row_count;  // a power of two
  row_vector* rows;
  lane* sorted[vectors_per_row];  // [row_count * lanes] each: keys and, if separate, indices

  lane_memory(std::size_t elements, unsigned char* scratch)
      : row_count(padded_size(elements) / lanes), rows(reinterpret_cast<row_vector*>(scratch)) {
    auto* next = reinterpret_cast<lane*>(rows + row_at<row_vector>(row_count));
    for (lane*& values : sorted) values = std::exchange(next, next + row_count * lanes);
  }
  // Number of elements and padding.
  static std::size_t padded_size(std::size_t elements) {
    std::size_t size = lanes * lanes;
    while (size < elements) size *= 2;
    return size;
  }
  std::size_t size() const { return row_count * lanes; }
  // Sorts the rows and stores the sequence.
  void sort() {
    lane_sort<row_vector>::sort(rows, row_count);
    transpose(rows, sorted);
  }
  row_vector load(std::size_t first) const {
    row_vector row;
    row.key = load_lanes<typename row_vector::vector>(sorted[0] + first);
    if constexpr (vectors_per_row == 2)
      row.index = load_lanes<typename row_vector::vector>(sorted[1] + first);
    return row;
  }
  void store(std::size_t first, row_vector const& row) const {
    store_lanes(sorted[0] + first, row.key);
    if constexpr (vectors_per_row == 2) store_lanes(sorted[1] + first, row.index);
  }

  // Makes the sort of the first n elements stable, as repair_ties does.
  void repair_ties(std::size_t n) {
    lane *const key = sorted[0], *const index = sorted[1];
    std::size_t budget = n / 16 + 16;
    for (std::size_t i = 1; i < n; i += lanes) {
      std::size_t const end = i + lanes < n ? i + lanes : n;
      if (end == i + lanes && !any_set(row_vector::inverted_ties(load(i - 1), load(i)))) continue;
      for (std::size_t k = i; k < end; ++k)
        for (std::size_t j = k; j > 0 && key[j - 1] == key[j] && index[j - 1] > index[j]; --j) {
          std::swap(index[j - 1], index[j]);
          if (--budget == 0) return sort_tied_indices();
        }
    }
  }

 private:
  template <class Row>
  void transpose(Row const* from, lane* const* to) const {
    constexpr std::size_t pitch = sizeof(Row) / sizeof(lane);
    using vector = typename Row::vector;
    for (std::size_t v = 0; v < sizeof(Row) / sizeof(vector); ++v)
      for (std::size_t r = 0; r < row_count; r += lanes)
        transpose_square<vector>(reinterpret_cast<lane const*>(from + row_at<Row>(r)) + v * lanes,
                                 pitch, to[v] + r, static_cast<std::ptrdiff_t>(row_count));
  }
  // Sorts composites (number of the run of equal keys | index).
  void sort_tied_indices() {
    using composites = keys<lane>;
    constexpr int index_bits = 4 * sizeof(lane);
    constexpr lane index_mask = static_cast<lane>((lane{1} << index_bits) - 1);
    auto* const composite_rows = reinterpret_cast<composites*>(rows);
    lane run = 0, previous = sorted[0][0];
    for (std::size_t r = 0; r < row_count; ++r) {
      auto* const row = reinterpret_cast<lane*>(composite_rows + row_at<composites>(r));
      for (std::size_t i = r * lanes; i < (r + 1) * lanes; ++i) {
        lane const key = sorted[0][i];
        run = static_cast<lane>(run + (key != std::exchange(previous, key)));
        row[i - r * lanes] = static_cast<lane>(run << index_bits | (sorted[1][i] & index_mask));
      }
    }
    lane_sort<composites>::sort(composite_rows, row_count);
    transpose(composite_rows, sorted + 1);
    for (std::size_t i = 0; i < row_count * lanes; ++i) sorted[1][i] &= index_mask;
  }
};
