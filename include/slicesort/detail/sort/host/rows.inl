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

// Where row i of a part lies, in rows. After each run of rows one is left out, since rows that lie
// a power of two apart would share a few sets of the cache. The distance of two rows is constant
// where both are in one run, or whole runs apart: all that a pass of the network asks for.
template <class Row>
inline constexpr std::size_t rows_of_run = Row::fused == 3 ? 512 : 256;
template <class Row>
constexpr std::size_t row_at(std::size_t i) {
  return i + i / rows_of_run<Row>;
}

// Finds out whether the keys of the rows that it is shown ever decrease in some column. Where they
// do not, the rows are sorted already, and a stable sort would change nothing. `broken` tells of
// the rows seen since it was asked last, and whether one is below any that came before.
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

// AVX-512 has a row of its own for 32-bit keys.
// clang-format off
#if SLICESORT_VECTOR_BYTES == 64
#  include <slicesort/detail/sort/host/wide_rows.inl>
#endif
// clang-format on
