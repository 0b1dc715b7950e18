// SPDX-License-Identifier: Apache-2.0
// Dropout keep mask of a tile (see ../dropout.hpp). Included once per instruction set.

struct keep_mask {
  static constexpr int lanes_per_vector = vector_bytes / 8,
                       vectors = tile_queries / lanes_per_vector;
  using V = vec<std::uint64_t, lanes_per_vector>;
  using signed_lanes = vec<std::int64_t, lanes_per_vector>;

  static void compute(keep_mask_params const& params) {
    V counters[vectors], lane_bits[vectors];
    for (int v = 0; v < vectors; ++v) {
      std::uint64_t first[lanes_per_vector], lane_bit[lanes_per_vector];
      for (int c = 0; c < lanes_per_vector; ++c) {
        auto const lane = static_cast<std::uint64_t>(v * lanes_per_vector + c);
        first[c] = params.counter.first + lane * params.counter.query_step,
        lane_bit[c] = std::uint64_t{1} << lane;
      }
      counters[v] = load_lanes<V>(first), lane_bits[v] = load_lanes<V>(lane_bit);
    }
    // Hashes have 32 bits, so a signed comparison is exact. It is also cheaper.
    signed_lanes const last_dropped =
        broadcast<signed_lanes>(static_cast<std::int64_t>(params.threshold) - 1);
    for (int j = 0; j < params.rows; ++j) {
      index_t const key = params.keys != nullptr ? params.keys[j] : params.key + j;
      V const key_counter = broadcast<V>(detail::counter_step * static_cast<std::uint64_t>(key));
      V keep{};
      for (int v = 0; v < vectors; ++v) {
        V const hash = hash_of(counters[v] + key_counter);
        signed_lanes const kept_lanes = greater(load_lanes<signed_lanes>(&hash), last_dropped);
        keep = keep | (load_lanes<V>(&kept_lanes) & lane_bits[v]);
      }
      std::uint64_t kept_bits[lanes_per_vector], bits = 0;
      store_lanes(kept_bits, keep);
      for (std::uint64_t const lane : kept_bits) bits |= lane;
      params.keep[j] = bits;
    }
  }

 private:
  // Upper 32 bits of detail::mix64(z).
  static SLICESORT_INLINE V hash_of(V z) {
    z = (z ^ (z >> 30)) * broadcast<V>(std::uint64_t{0xbf58476d1ce4e5b9u});
    z = (z ^ (z >> 27)) * broadcast<V>(std::uint64_t{0x94d049bb133111ebu});
    return (z >> 32) ^ (z >> 63);
  }
};
