// SPDX-License-Identifier: Apache-2.0
// A row of a tile: one element of each of `lanes` neighboring columns, held in one to three
// vectors. Columns live in lanes, so a sort of all of them compares whole rows and never
// transposes. Included once per instruction set; `vector_bytes`, `register_count` and the
// vocabulary of vectors are in scope.

// Keys alone: a sort of values, or of any composite that carries its index in the low bits.
template <class Lane>
struct keys {
  using lane = Lane;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Lane));
  static constexpr int fused =
      register_count >= 32 ? 4 : 3;  // levels per pass: 2^fused rows in registers
  using vector = vec<Lane, lanes>;

  vector key;

  // After every element: what stands in for rows past the end.
  static SLICESORT_INLINE keys last() { return {broadcast<vector>(static_cast<Lane>(~Lane{0}))}; }
  static SLICESORT_INLINE void compare_exchange(keys& a, keys& b) {
    vector const low = lower(a.key, b.key);
    b.key = higher(a.key, b.key);
    a.key = low;
  }
};

// A key and the source row in lanes of the same width. Exchanges on strictly smaller keys: not
// stable, and a padding row never moves in front of an element.
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

// Watches rows go by: do their keys ever fall? (In every column that stays sorted, stable sorting
// is the identity.)
template <class Row>
struct ascent {
  typename Row::vector top{}, fell{};

  SLICESORT_INLINE void see(Row const& r) {
    top = higher(top, r.key);
    fell = fell | (top ^ r.key);
  }
  SLICESORT_INLINE bool broken() const { return any(fell); }
};
