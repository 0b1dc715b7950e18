// SPDX-License-Identifier: Apache-2.0
// float on AVX-512: 32 columns per row with 16-bit indices. Included after codec.inl and
// wide_rows.inl.

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
    put<Stream>(to, r.key);
    put<Stream>(to + 16, r.key_high);
  }
  template <bool Stream, class Index>
  static SLICESORT_INLINE void store_indices(row const& r, Index* to) {
    if constexpr (sizeof(Index) == 2) {
      put<Stream>(to, r.index);
    } else {
      put<Stream>(to, index_half(r, 0));
      put<Stream>(to + 16, index_half(r, 1));
    }
  }
  static SLICESORT_INLINE bool has_special(row const& r, bits const* flip) {
    return any_special(r.key, flip) || any_special(r.key_high, flip + 16);
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
  // The indices of 16 of the columns, widened; read from memory, where halves are addressable.
  static SLICESORT_INLINE flags index_half(row const& r, int half) {
    return convert<flags>(
        load_lanes<vec<std::uint16_t, 16>>(reinterpret_cast<char const*>(&r.index) + 32 * half));
  }
};
