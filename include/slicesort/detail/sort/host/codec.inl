// SPDX-License-Identifier: Apache-2.0
// Codecs convert values to rows of sortable keys and back, for `row_vector::lanes` columns at a
// time. `load` computes keys, and sets in `lost_bits` every bit that `decode` cannot restore.
// `decode` converts keys to the bits of the values; `store_decoded` decodes while storing.
// `descending_mask` has all bits set in descending columns, whose keys are complemented. Included
// once per instruction set, after rows.inl.

template <class T, int Count>
SLICESORT_INLINE vec<bits_t<T>, Count> canonical_keys(vec<bits_t<T>, Count> const& bits,
                                                      vec<bits_t<T>, Count>& lost_bits) {
  using Bits = detail::bits_t<T>;
  using V = vec<Bits, Count>;
  V const sign = broadcast<V>(sign_bit<Bits>), all_ones = broadcast<V>(static_cast<Bits>(~Bits{0}));
  V const raw_key = bits ^ (spread_sign<Bits, Count>(bits) | sign);
  V const is_nan = greater(bits & ~sign, broadcast<V>(Bits{dtype_traits<T>::infinity}));
  V key = select(is_nan, all_ones, raw_key);
  key = select(equal(bits, sign), sign, key);  // -0 becomes +0
  lost_bits = lost_bits | (key ^ raw_key);
  return key;
}
template <class Bits, int Count>
SLICESORT_INLINE vec<Bits, Count> value_bits(vec<Bits, Count> const& key) {
  using V = vec<Bits, Count>;
  return key ^ (~spread_sign<Bits, Count>(key) | broadcast<V>(detail::sign_bit<Bits>));
}

// True if some key may stand for a value that canonicalization changed: NaN (the first or the last
// key, by direction), zero, or padding.
template <class V, class Bits>
SLICESORT_INLINE bool may_be_special(V const& key, Bits const* descending_mask) {
  return any_set(equal(key, V{}) | equal(key, ~V{}) |
                 equal(key ^ load_lanes<V>(descending_mask), broadcast<V>(detail::sign_bit<Bits>)));
}

template <class T>
struct values_codec {
  using bits = detail::bits_t<T>;
  using row_vector = keys<bits>;
  using bits_vector = typename row_vector::vector;
  static constexpr bool has_index = false, needs_repair = false;

  static SLICESORT_INLINE row_vector load(bits const* from, bits const* descending_mask, index_t,
                                          bits_vector& lost_bits) {
    return {canonical_keys<T, row_vector::lanes>(load_lanes<bits_vector>(from), lost_bits) ^
            load_lanes<bits_vector>(descending_mask)};
  }
  static SLICESORT_INLINE row_vector decode(row_vector const& row, bits const* descending_mask) {
    return {
        value_bits<bits, row_vector::lanes>(row.key ^ load_lanes<bits_vector>(descending_mask))};
  }
  static void set_key(row_vector& row, int lane, bits key) { row.key[lane] = key; }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row_vector const& row, bits* to) {
    store_vector<Stream>(to, row.key);
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row_vector const& row, bits const* descending_mask,
                                             bits* to) {
    store_values<Stream>(decode(row, descending_mask), to);
  }
};

// Codec of 16-bit values: a 32-bit lane holds the key above a 16-bit index, which makes the sort
// stable at no cost.
template <class T>
struct packed_codec {
  using bits = std::uint16_t;
  using row_vector = keys<std::uint32_t>;
  using bits_vector = vec<std::uint16_t, row_vector::lanes>;
  static constexpr bool has_index = true, needs_repair = false;

  static SLICESORT_INLINE row_vector load(bits const* from, bits const* descending_mask, index_t i,
                                          bits_vector& lost_bits) {
    using V = typename row_vector::vector;
    bits_vector const key =
        canonical_keys<T, row_vector::lanes>(load_lanes<bits_vector>(from), lost_bits) ^
        load_lanes<bits_vector>(descending_mask);
    return {convert<V>(key) << 16 | broadcast<V>(static_cast<std::uint32_t>(i))};
  }
  static SLICESORT_INLINE row_vector decode(row_vector const& row, bits const* descending_mask) {
    using V = typename row_vector::vector;
    bits_vector const key =
        convert<bits_vector>(row.key >> 16) ^ load_lanes<bits_vector>(descending_mask);
    V const index = row.key & broadcast<V>(0xffffu);
    return {convert<V>(value_bits<bits, row_vector::lanes>(key)) << 16 | index};
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row_vector const& row, bits* to) {
    store_vector<Stream>(to, convert<bits_vector>(row.key >> 16));
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row_vector const& row, bits const* descending_mask,
                                             bits* to) {
    bits_vector const key =
        convert<bits_vector>(row.key >> 16) ^ load_lanes<bits_vector>(descending_mask);
    store_vector<Stream>(to, value_bits<bits, row_vector::lanes>(key));
  }
  template <bool Stream, class Index>
  static SLICESORT_INLINE void store_indices(row_vector const& row, Index* to) {
    using V = typename row_vector::vector;
    store_vector<Stream>(to,
                         convert<vec<Index, row_vector::lanes>>(row.key & broadcast<V>(0xffffu)));
  }
  static SLICESORT_INLINE bool has_special(row_vector const& row, bits const* descending_mask) {
    return may_be_special(convert<bits_vector>(row.key >> 16), descending_mask);
  }
  static bits key_of(row_vector const& row, int lane) {
    return static_cast<bits>(row.key[lane] >> 16);
  }
  static index_t index_of(row_vector const& row, int lane) {
    return static_cast<index_t>(row.key[lane] & 0xffffu);
  }
  static void set_key(row_vector& row, int lane, bits key) {
    row.key[lane] = static_cast<std::uint32_t>(key) << 16 | (row.key[lane] & 0xffffu);
  }
};

// Codec of wider values: keys and indices in separate vectors, in lanes of the value's width.
template <class T>
struct pairs_codec {
  using bits = detail::bits_t<T>;
  using row_vector = pairs<bits>;
  using bits_vector = typename row_vector::vector;
  static constexpr bool has_index = true, needs_repair = true;

  static SLICESORT_INLINE row_vector load(bits const* from, bits const* descending_mask, index_t i,
                                          bits_vector& lost_bits) {
    return {canonical_keys<T, row_vector::lanes>(load_lanes<bits_vector>(from), lost_bits) ^
                load_lanes<bits_vector>(descending_mask),
            broadcast<bits_vector>(static_cast<bits>(i))};
  }
  static SLICESORT_INLINE row_vector decode(row_vector const& row, bits const* descending_mask) {
    return {value_bits<bits, row_vector::lanes>(row.key ^ load_lanes<bits_vector>(descending_mask)),
            row.index};
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row_vector const& row, bits* to) {
    store_vector<Stream>(to, row.key);
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row_vector const& row, bits const* descending_mask,
                                             bits* to) {
    store_values<Stream>(decode(row, descending_mask), to);
  }
  template <bool Stream, class Index>
  static SLICESORT_INLINE void store_indices(row_vector const& row, Index* to) {
    store_vector<Stream>(to, convert<vec<Index, row_vector::lanes>>(row.index));
  }
  static SLICESORT_INLINE bool has_special(row_vector const& row, bits const* descending_mask) {
    return may_be_special(row.key, descending_mask);
  }
  static bits key_of(row_vector const& row, int lane) { return row.key[lane]; }
  static index_t index_of(row_vector const& row, int lane) {
    return static_cast<index_t>(row.index[lane]);
  }
  static void set_key(row_vector& row, int lane, bits key) { row.key[lane] = key; }
};

#if SLICESORT_VECTOR_BYTES == 64
// Codec of 32-bit values on AVX-512: 32 columns a row, with 16-bit indices.
template <class T>
struct wide_codec {
  static_assert(sizeof(T) == 4, "32-bit values");
  using bits = std::uint32_t;
  using row_vector = wide_pairs;
  using bits_vector = wide_pairs::vector;
  using index_lanes = vec<std::uint16_t, 32>;
  static constexpr bool has_index = true, needs_repair = true;

  static SLICESORT_INLINE row_vector load(bits const* from, bits const* descending_mask, index_t i,
                                          bits_vector& lost_bits) {
    return {canonical_keys<T, 16>(load_lanes<bits_vector>(from), lost_bits) ^
                load_lanes<bits_vector>(descending_mask),
            canonical_keys<T, 16>(load_lanes<bits_vector>(from + 16), lost_bits) ^
                load_lanes<bits_vector>(descending_mask + 16),
            broadcast<index_lanes>(static_cast<std::uint16_t>(i))};
  }
  static SLICESORT_INLINE row_vector decode(row_vector const& row, bits const* descending_mask) {
    return {value_bits<bits, 16>(row.key ^ load_lanes<bits_vector>(descending_mask)),
            value_bits<bits, 16>(row.key_high ^ load_lanes<bits_vector>(descending_mask + 16)),
            row.index};
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row_vector const& row, bits* to) {
    store_vector<Stream>(to, row.key);
    store_vector<Stream>(to + 16, row.key_high);
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row_vector const& row, bits const* descending_mask,
                                             bits* to) {
    store_values<Stream>(decode(row, descending_mask), to);
  }
  template <bool Stream, class Index>
  static SLICESORT_INLINE void store_indices(row_vector const& row, Index* to) {
    if constexpr (sizeof(Index) == 2) {
      store_vector<Stream>(to, row.index);
    } else {
      store_vector<Stream>(to, index_half(row, 0));
      store_vector<Stream>(to + 16, index_half(row, 1));
    }
  }
  static SLICESORT_INLINE bool has_special(row_vector const& row, bits const* descending_mask) {
    return may_be_special(row.key, descending_mask) ||
           may_be_special(row.key_high, descending_mask + 16);
  }
  static bits key_of(row_vector const& row, int lane) {
    return lane < 16 ? row.key[lane] : row.key_high[lane - 16];
  }
  static index_t index_of(row_vector const& row, int lane) { return row.index[lane]; }
  static void set_key(row_vector& row, int lane, bits key) {
    if (lane < 16)
      row.key[lane] = key;
    else
      row.key_high[lane - 16] = key;
  }
  // Indices of 16 columns, widened. They are read through memory, which can address half of a
  // vector.
  static SLICESORT_INLINE bits_vector index_half(row_vector const& row, int half) {
    return convert<bits_vector>(
        load_lanes<vec<std::uint16_t, 16>>(reinterpret_cast<char const*>(&row.index) + 32 * half));
  }
};
template <class T>
using codec_of_32_bits = wide_codec<T>;
#else
template <class T>
using codec_of_32_bits = pairs_codec<T>;
#endif

// Codec with indices, which are needed for the permutation and to restore NaN and zeros.
template <class T>
using indexed_codec =
    std::conditional_t<sizeof(T) == 2, packed_codec<T>,
                       std::conditional_t<sizeof(T) == 4, codec_of_32_bits<T>, pairs_codec<T>>>;

// Decodes a row in place. If keys may have lost bits, value_at(lane, index) returns the bits of the
// values that their keys do not determine: zeros, NaN and padding.
template <class Codec, class ValueAt>
SLICESORT_INLINE void decode_row(typename Codec::row_vector& row, bool lossy,
                                 typename Codec::bits const* descending_mask, int used_lanes,
                                 ValueAt const& value_at) {
  using bits = typename Codec::bits;
  typename Codec::row_vector const sorted = row;
  row = Codec::decode(sorted, descending_mask);
  if constexpr (Codec::has_index) {
    if (!lossy || !Codec::has_special(sorted, descending_mask)) return;
    for (int lane = 0; lane < used_lanes; ++lane) {
      bits const key = Codec::key_of(sorted, lane);
      if (key == 0 || key == static_cast<bits>(~bits{0}) ||
          static_cast<bits>(key ^ descending_mask[lane]) == detail::sign_bit<bits>)
        Codec::set_key(row, lane, value_at(lane, Codec::index_of(sorted, lane)));
    }
  }
  (void)lossy, (void)used_lanes, (void)value_at;
}
