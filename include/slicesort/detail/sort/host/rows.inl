// SPDX-License-Identifier: Apache-2.0
// One row of a tile: an element of each of `lanes` neighboring columns, in one to three vectors.
// Comparing whole rows sorts all columns at once without a transpose. Included once per instruction
// set, after vectors.inl.

// Row of keys alone, or of composites with the index in the low bits.
template <class Lane>
struct keys {
  using lane = Lane;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Lane));
  // Levels of the network per pass: 2^fused rows are in registers.
  static constexpr int fused = register_count >= 32 ? 4 : 3;
  using vector = vec<Lane, lanes>;

  vector key;

  // Padding row, which sorts after every element.
  static SLICESORT_INLINE keys last() { return {broadcast<vector>(static_cast<Lane>(~Lane{0}))}; }
  static SLICESORT_INLINE void compare_exchange(keys& a, keys& b) {
    vector const low = lower(a.key, b.key);
    b.key = higher(a.key, b.key);
    a.key = low;
  }
};

// Row of keys and source rows in lanes of one width. Rows are exchanged only if a key is strictly
// smaller, so padding never moves in front of an element. The sort is not stable (see ties.inl).
template <class Lane>
struct pairs {
  using lane = Lane;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Lane));
  static constexpr int fused = register_count >= 32 ? 3 : 2;
  using vector = vec<Lane, lanes>;

  vector key, index;

  static SLICESORT_INLINE pairs last() {
    return {broadcast<vector>(static_cast<Lane>(~Lane{0})),
            broadcast<vector>(static_cast<Lane>(~Lane{0}))};
  }
  static SLICESORT_INLINE void compare_exchange(pairs& a, pairs& b) {
    vector const low = lower(a.key, b.key);
    vector const keep = equal(low, a.key);
    b.key = higher(a.key, b.key);
    a.key = low;
    vector const index = select(keep, a.index, b.index);
    b.index = select(keep, b.index, a.index);
    a.index = index;
  }

  // Nonzero in the lanes where the keys are equal and the indices inverted.
  static SLICESORT_INLINE vector inverted(pairs const& a, pairs const& b) {
    return equal(a.key, b.key) & greater(a.index, b.index);
  }
  static SLICESORT_INLINE void swap_indices(vector const& swap, pairs& a, pairs& b) {
    vector const index = select(swap, b.index, a.index);
    b.index = select(swap, a.index, b.index);
    a.index = index;
  }
};

// Memory position of row i, in rows. A gap of one row follows each group of contiguous rows, since
// rows a power of two apart would share a few cache sets. The distance of two rows is constant
// within one group and across whole groups, which is all that a pass of the network needs.
template <class Row>
inline constexpr std::size_t contiguous_rows = Row::fused == 3 ? 512 : 256;
template <class Row>
constexpr std::size_t row_at(std::size_t i) {
  return i + i / contiguous_rows<Row>;
}

// Detects whether keys ever decrease in some column. If not, the rows are sorted already and a
// stable sort changes nothing. `broken` reports a decrease among the rows passed to `see` since the
// last call.
template <class Row>
struct ascent {
  typename Row::vector top{}, fell{};

  SLICESORT_INLINE void see(Row const& r) {
    top = higher(top, r.key);
    fell = fell | (top ^ r.key);
  }
  SLICESORT_INLINE bool broken() {
    bool const was = any_set(fell);
    fell = typename Row::vector{};
    return was;
  }
};

#if SLICESORT_VECTOR_BYTES == 64
#  include <slicesort/detail/sort/host/wide_rows.inl>
#endif
// clang-format on
