// SPDX-License-Identifier: Apache-2.0
// A row of a tile: one element of each of `lanes` neighboring columns, held in one to three
// vectors. A column is a lane, so all columns are sorted at once by comparing whole rows, and
// nothing is ever transposed. Included once per instruction set, after vectors.inl.

// Keys alone: a sort of values, or of any composite that carries its index in the low bits.
template <class Lane>
struct keys {
  using lane = Lane;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Lane));
  // Levels of the network that one pass does: 2^fused rows are in registers.
  static constexpr int fused = register_count >= 32 ? 4 : 3;
  using vector = vec<Lane, lanes>;

  vector key;

  // Sorts after every element; stands in for rows past the end.
  static SLICESORT_INLINE keys last() { return {broadcast<vector>(static_cast<Lane>(~Lane{0}))}; }
  static SLICESORT_INLINE void compare_exchange(keys& a, keys& b) {
    vector const low = lower(a.key, b.key);
    b.key = higher(a.key, b.key);
    a.key = low;
  }
};

// Keys and source rows in lanes of one width. Rows are exchanged only where a key is strictly
// smaller, so a padding row never moves in front of an element; the sort is not stable (see
// ties.inl).
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
};

// Finds out whether the keys of the rows that it is shown ever decrease in some column. Where they
// do not, the rows are sorted already, and a stable sort would change nothing.
template <class Row>
struct ascent {
  typename Row::vector top{}, fell{};

  SLICESORT_INLINE void see(Row const& r) {
    top = higher(top, r.key);
    fell = fell | (top ^ r.key);
  }
  SLICESORT_INLINE bool broken() const { return any(fell); }
};

// AVX-512 has a row of its own for 32-bit keys.
// clang-format off
#if SLICESORT_VECTOR_BYTES == 64
#  include <slicesort/detail/sort/host/wide_rows.inl>
#endif
// clang-format on
