// SPDX-License-Identifier: Apache-2.0
// Codec of 32-bit values on AVX-512: 32 columns a row, with 16-bit indices. Included by codec.inl
// for AVX-512 only.

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
  // Indices of 16 columns, widened. Read through memory, where half of a vector has an address.
  static SLICESORT_INLINE flags index_half(row const& r, int half) {
    return convert<flags>(
        load_lanes<vec<std::uint16_t, 16>>(reinterpret_cast<char const*>(&r.index) + 32 * half));
  }
};
