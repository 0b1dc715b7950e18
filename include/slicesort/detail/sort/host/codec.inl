// SPDX-License-Identifier: Apache-2.0
// Codecs convert values to rows of sortable keys and back, for `row::lanes` columns at a time.
// `load` computes keys, and sets in `changed` every bit that `decode` cannot restore. `decode`
// converts keys to the bits of the values; `store_decoded` decodes while storing. Included once per
// instruction set, after rows.inl.

template <class T, int Count>
SLICESORT_INLINE vec<bits_t<T>, Count> canonical_keys(vec<bits_t<T>, Count> const& bits,
                                                      vec<bits_t<T>, Count>& changed) {
  using Bits = detail::bits_t<T>;
  using V = vec<Bits, Count>;
  V const top = broadcast<V>(sign_bit<Bits>), ones = broadcast<V>(static_cast<Bits>(~Bits{0}));
  V const raw = bits ^ (spread_sign<Bits, Count>(bits) | top);
  V const nan = greater(bits & ~top, broadcast<V>(Bits{dtype_traits<T>::infinity}));
  V key = select(nan, ones, raw);
  key = select(equal(bits, top), top, key);  // -0 becomes +0
  changed = changed | (key ^ raw);
  return key;
}
template <class Bits, int Count>
SLICESORT_INLINE vec<Bits, Count> value_bits(vec<Bits, Count> const& key) {
  using V = vec<Bits, Count>;
  return key ^ (~spread_sign<Bits, Count>(key) | broadcast<V>(detail::sign_bit<Bits>));
}

// True if some key may stand for a value that canonicalization changed: NaN (the first or the last
// key, by direction), zero, or padding past a column's end.
template <class V, class Bits>
SLICESORT_INLINE bool may_be_special(V const& key, Bits const* flip) {
  return any_set(equal(key, V{}) | equal(key, ~V{}) |
                 equal(key ^ load_lanes<V>(flip), broadcast<V>(detail::sign_bit<Bits>)));
}

template <class T>
struct values_codec {
  using bits = detail::bits_t<T>;
  using row = keys<bits>;
  using flags = typename row::vector;
  static constexpr bool has_index = false, needs_repair = false;

  static SLICESORT_INLINE row load(bits const* from, bits const* flip, index_t, flags& changed) {
    return {canonical_keys<T, row::lanes>(load_lanes<flags>(from), changed) ^
            load_lanes<flags>(flip)};
  }
  static SLICESORT_INLINE row decode(row const& r, bits const* flip) {
    return {value_bits<bits, row::lanes>(r.key ^ load_lanes<flags>(flip))};
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row const& r, bits* to) {
    store_vector<Stream>(to, r.key);
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row const& r, bits const* flip, bits* to) {
    store_values<Stream>(decode(r, flip), to);
  }
};

// Codec of 16-bit values: a 32-bit lane holds the key above a 16-bit index, which makes the sort
// stable at no cost.
template <class T>
struct packed_codec {
  using bits = std::uint16_t;
  using row = keys<std::uint32_t>;
  using flags = vec<std::uint16_t, row::lanes>;
  static constexpr bool has_index = true, needs_repair = false;

  static SLICESORT_INLINE row load(bits const* from, bits const* flip, index_t i, flags& changed) {
    using V = typename row::vector;
    flags const key =
        canonical_keys<T, row::lanes>(load_lanes<flags>(from), changed) ^ load_lanes<flags>(flip);
    return {convert<V>(key) << 16 | broadcast<V>(static_cast<std::uint32_t>(i))};
  }
  static SLICESORT_INLINE row decode(row const& r, bits const* flip) {
    using V = typename row::vector;
    flags const key = convert<flags>(r.key >> 16) ^ load_lanes<flags>(flip);
    V const index = r.key & broadcast<V>(0xffffu);
    return {convert<V>(value_bits<bits, row::lanes>(key)) << 16 | index};
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row const& r, bits* to) {
    store_vector<Stream>(to, convert<flags>(r.key >> 16));
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row const& r, bits const* flip, bits* to) {
    flags const key = convert<flags>(r.key >> 16) ^ load_lanes<flags>(flip);
    store_vector<Stream>(to, value_bits<bits, row::lanes>(key));
  }
  template <bool Stream, class Index>
  static SLICESORT_INLINE void store_indices(row const& r, Index* to) {
    using V = typename row::vector;
    store_vector<Stream>(to, convert<vec<Index, row::lanes>>(r.key & broadcast<V>(0xffffu)));
  }
  static SLICESORT_INLINE bool has_special(row const& r, bits const* flip) {
    return may_be_special(convert<flags>(r.key >> 16), flip);
  }
  static bits key_of(row const& r, int lane) { return static_cast<bits>(r.key[lane] >> 16); }
  static index_t index_of(row const& r, int lane) {
    return static_cast<index_t>(r.key[lane] & 0xffffu);
  }
  static void set_key(row& r, int lane, bits key) {
    r.key[lane] = static_cast<std::uint32_t>(key) << 16 | (r.key[lane] & 0xffffu);
  }
};

// Codec of wider values: keys and indices in separate vectors, in lanes of the value's width.
template <class T>
struct pairs_codec {
  using bits = detail::bits_t<T>;
  using row = pairs<bits>;
  using flags = typename row::vector;
  static constexpr bool has_index = true, needs_repair = true;

  static SLICESORT_INLINE row load(bits const* from, bits const* flip, index_t i, flags& changed) {
    return {
        canonical_keys<T, row::lanes>(load_lanes<flags>(from), changed) ^ load_lanes<flags>(flip),
        broadcast<flags>(static_cast<bits>(i))};
  }
  static SLICESORT_INLINE row decode(row const& r, bits const* flip) {
    return {value_bits<bits, row::lanes>(r.key ^ load_lanes<flags>(flip)), r.index};
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row const& r, bits* to) {
    store_vector<Stream>(to, r.key);
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row const& r, bits const* flip, bits* to) {
    store_values<Stream>(decode(r, flip), to);
  }
  template <bool Stream, class Index>
  static SLICESORT_INLINE void store_indices(row const& r, Index* to) {
    store_vector<Stream>(to, convert<vec<Index, row::lanes>>(r.index));
  }
  static SLICESORT_INLINE bool has_special(row const& r, bits const* flip) {
    return may_be_special(r.key, flip);
  }
  static bits key_of(row const& r, int lane) { return r.key[lane]; }
  static index_t index_of(row const& r, int lane) { return static_cast<index_t>(r.index[lane]); }
  static void set_key(row& r, int lane, bits key) { r.key[lane] = key; }
};

#if SLICESORT_VECTOR_BYTES == 64
// Codec of 32-bit values on AVX-512: 32 columns a row, with 16-bit indices.
template <class T>
struct wide_codec {
  static_assert(sizeof(T) == 4, "32-bit values");
  using bits = std::uint32_t;
  using row = wide_pairs;
  using flags = wide_pairs::vector;
  using index_lanes = vec<std::uint16_t, 32>;
  static constexpr bool has_index = true, needs_repair = true;

  static SLICESORT_INLINE row load(bits const* from, bits const* flip, index_t i, flags& changed) {
    return {
        canonical_keys<T, 16>(load_lanes<flags>(from), changed) ^ load_lanes<flags>(flip),
        canonical_keys<T, 16>(load_lanes<flags>(from + 16), changed) ^ load_lanes<flags>(flip + 16),
        broadcast<index_lanes>(static_cast<std::uint16_t>(i))};
  }
  static SLICESORT_INLINE row decode(row const& r, bits const* flip) {
    return {value_bits<bits, 16>(r.key ^ load_lanes<flags>(flip)),
            value_bits<bits, 16>(r.key_high ^ load_lanes<flags>(flip + 16)), r.index};
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_values(row const& r, bits* to) {
    store_vector<Stream>(to, r.key);
    store_vector<Stream>(to + 16, r.key_high);
  }
  template <bool Stream>
  static SLICESORT_INLINE void store_decoded(row const& r, bits const* flip, bits* to) {
    store_values<Stream>(decode(r, flip), to);
  }
  template <bool Stream, class Index>
  static SLICESORT_INLINE void store_indices(row const& r, Index* to) {
    if constexpr (sizeof(Index) == 2) {
      store_vector<Stream>(to, r.index);
    } else {
      store_vector<Stream>(to, index_half(r, 0));
      store_vector<Stream>(to + 16, index_half(r, 1));
    }
  }
  static SLICESORT_INLINE bool has_special(row const& r, bits const* flip) {
    return may_be_special(r.key, flip) || may_be_special(r.key_high, flip + 16);
  }
  static bits key_of(row const& r, int lane) {
    return lane < 16 ? r.key[lane] : r.key_high[lane - 16];
  }
  static index_t index_of(row const& r, int lane) { return r.index[lane]; }
  static void set_key(row& r, int lane, bits key) {
    if (lane < 16)
      r.key[lane] = key;
    else
      r.key_high[lane - 16] = key;
  }
  // Indices of 16 columns, widened. They are read through memory, which can address half of a
  // vector.
  static SLICESORT_INLINE flags index_half(row const& r, int half) {
    return convert<flags>(
        load_lanes<vec<std::uint16_t, 16>>(reinterpret_cast<char const*>(&r.index) + 32 * half));
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
