// SPDX-License-Identifier: Apache-2.0
// One row of a tile: one element from each of `lanes` neighboring columns, in one to three vectors.
// Comparing whole rows sorts all columns at once, without a transpose. Included once per
// instruction set, after vectors.inl.

// Row of keys, or of composites with the index in the low bits.
template <class Lane>
struct keys {
  using lane = Lane;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Lane));
  // A pass holds 2^levels_per_pass rows in registers.
  static constexpr int levels_per_pass = register_count >= 32 ? 4 : 3;
  using vector = vec<Lane, lanes>;

  vector key;

  // Padding row, which sorts after every element.
  static SLICESORT_INLINE keys last() { return {broadcast<vector>(static_cast<Lane>(~Lane{0}))}; }
  static SLICESORT_INLINE void compare_exchange(keys& a, keys& b) {
    vector const low = min_lanes(a.key, b.key);
    b.key = max_lanes(a.key, b.key);
    a.key = low;
  }
};

// Row of keys and source rows in lanes of one width. Rows are exchanged only if a key is strictly
// smaller, so padding never moves in front of an element. The sort is not stable (see ties.inl).
template <class Lane>
struct pairs {
  using lane = Lane;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Lane));
  static constexpr int levels_per_pass = register_count >= 32 ? 3 : 2;
  using vector = vec<Lane, lanes>;

  vector key, index;

  static SLICESORT_INLINE pairs last() {
    return {broadcast<vector>(static_cast<Lane>(~Lane{0})),
            broadcast<vector>(static_cast<Lane>(~Lane{0}))};
  }
  static SLICESORT_INLINE void compare_exchange(pairs& a, pairs& b) {
    vector const low = min_lanes(a.key, b.key);
    vector const keep = equal(low, a.key);
    b.key = max_lanes(a.key, b.key);
    a.key = low;
    vector const index = select(keep, a.index, b.index);
    b.index = select(keep, b.index, a.index);
    a.index = index;
  }

  // Nonzero in the lanes where the keys are equal and the indices out of order.
  static SLICESORT_INLINE vector inverted_ties(pairs const& a, pairs const& b) {
    return equal(a.key, b.key) & greater(a.index, b.index);
  }
  static SLICESORT_INLINE void swap_indices(vector const& swap, pairs& a, pairs& b) {
    vector const index = select(swap, b.index, a.index);
    b.index = select(swap, a.index, b.index);
    a.index = index;
  }
};

// Memory position of row i, in rows. A gap of one row follows each group of contiguous rows,
// because rows at distances of a power of two would share a few cache sets. The distance between
// two rows is constant within a group and across whole groups, as the network's passes require.
template <class Row>
inline constexpr std::size_t contiguous_rows = Row::levels_per_pass == 3 ? 512 : 256;
template <class Row>
constexpr std::size_t row_at(std::size_t i) {
  return i + i / contiguous_rows<Row>;
}

// Detects decreasing keys in any column. If there are none, the rows are sorted already and a
// stable sort changes nothing. `take_decrease` returns true if the keys decreased in the rows
// observed since its last call.
template <class Row>
struct decrease_detector {
  typename Row::vector maximum{}, decreased_bits{};

  SLICESORT_INLINE void observe(Row const& row) {
    maximum = max_lanes(maximum, row.key);
    decreased_bits = decreased_bits | (maximum ^ row.key);
  }
  SLICESORT_INLINE bool take_decrease() {
    bool const decreased = any_set(decreased_bits);
    decreased_bits = typename Row::vector{};
    return decreased;
  }
};

#if SLICESORT_VECTOR_BYTES == 64
using mask16 = unsigned short;
using mask32 = unsigned int;
using int16_lanes = vec<short, 32>;
using int32_lanes = vec<int, 16>;

SLICESORT_INLINE bool any_set(mask32 m) { return m != 0; }

template <class V>
SLICESORT_INLINE int32_lanes signed_lanes(V const& v) {
  return reinterpret_cast<int32_lanes>(v);
}
// One bit per column, set where the comparison `Code` of a and b holds (0 equal, 1 less, 6
// greater).
template <int Code>
SLICESORT_INLINE mask32 compare_keys(vec<std::uint32_t, 16> const& a_low,
                                     vec<std::uint32_t, 16> const& a_high,
                                     vec<std::uint32_t, 16> const& b_low,
                                     vec<std::uint32_t, 16> const& b_high) {
  mask16 const low_mask = static_cast<mask16>(__builtin_ia32_ucmpd512_mask(
      signed_lanes(a_low), signed_lanes(b_low), Code, static_cast<mask16>(-1)));
  mask16 const high_mask = static_cast<mask16>(__builtin_ia32_ucmpd512_mask(
      signed_lanes(a_high), signed_lanes(b_high), Code, static_cast<mask16>(-1)));
  return static_cast<mask32>(__builtin_ia32_kunpcksi(high_mask, low_mask));
}
SLICESORT_INLINE vec<std::uint16_t, 32> blend(mask32 m, vec<std::uint16_t, 32> const& a,
                                              vec<std::uint16_t, 32> const& b) {
#  if defined(__clang__)
  return reinterpret_cast<vec<std::uint16_t, 32>>(__builtin_ia32_selectw_512(
      m, reinterpret_cast<int16_lanes>(b), reinterpret_cast<int16_lanes>(a)));
#  else
  return reinterpret_cast<vec<std::uint16_t, 32>>(__builtin_ia32_blendmw_512_mask(
      reinterpret_cast<int16_lanes>(a), reinterpret_cast<int16_lanes>(b), m));
#  endif
}

// Row of 32-bit keys on AVX-512: 32 columns in two vectors of keys and one vector of 16-bit source
// rows. It takes a quarter less memory than two rows of `pairs`, and one blend moves the indices of
// 32 columns. Builtins combine the masks of two comparisons to control a blend of narrower lanes,
// which vector operators cannot express.
struct wide_pairs {
  using lane = std::uint32_t;
  static constexpr int lanes = 32;
  static constexpr int levels_per_pass = 3;
  using vector = vec<std::uint32_t, 16>;

  vector key, key_high;  // columns 0..15 and 16..31
  vec<std::uint16_t, 32> index;

  static SLICESORT_INLINE wide_pairs last() {
    return {broadcast<vector>(~0u), broadcast<vector>(~0u),
            broadcast<vec<std::uint16_t, 32>>(static_cast<std::uint16_t>(~0u))};
  }
  static SLICESORT_INLINE void compare_exchange(wide_pairs& a, wide_pairs& b) {
    mask32 const swap = compare_keys<1>(b.key, b.key_high, a.key, a.key_high);
    vector const low = min_lanes(a.key, b.key), low_high = min_lanes(a.key_high, b.key_high);
    b.key = max_lanes(a.key, b.key);
    b.key_high = max_lanes(a.key_high, b.key_high);
    a.key = low;
    a.key_high = low_high;
    swap_indices(swap, a, b);
  }

  // One bit per column, set where the keys are equal and the indices out of order.
  static SLICESORT_INLINE mask32 inverted_ties(wide_pairs const& a, wide_pairs const& b) {
    return compare_keys<0>(a.key, a.key_high, b.key, b.key_high) &
           static_cast<mask32>(__builtin_ia32_ucmpw512_mask(reinterpret_cast<int16_lanes>(a.index),
                                                            reinterpret_cast<int16_lanes>(b.index),
                                                            6, static_cast<mask32>(-1)));
  }
  static SLICESORT_INLINE void swap_indices(mask32 m, wide_pairs& a, wide_pairs& b) {
    vec<std::uint16_t, 32> const index = blend(m, a.index, b.index);
    b.index = blend(m, b.index, a.index);
    a.index = index;
  }
};

template <>
struct decrease_detector<wide_pairs> {
  wide_pairs::vector maximum{}, maximum_high{}, decreased_bits{};

  SLICESORT_INLINE void observe(wide_pairs const& row) {
    maximum = max_lanes(maximum, row.key);
    maximum_high = max_lanes(maximum_high, row.key_high);
    decreased_bits = decreased_bits | (maximum ^ row.key) | (maximum_high ^ row.key_high);
  }
  SLICESORT_INLINE bool take_decrease() {
    bool const decreased = any_set(decreased_bits);
    decreased_bits = wide_pairs::vector{};
    return decreased;
  }
};
#endif
