// SPDX-License-Identifier: Apache-2.0
// Dropout keep mask of a tile (see ../dropout.hpp). Included once per instruction set.

struct keep_mask {
  static constexpr int count = vector_bytes / 8, vectors = attention_queries / count;
  using V = vec<std::uint64_t, count>;
  using signed_lanes = vec<std::int64_t, count>;

  static void compute(keep_mask_call const& call) {
    V counters[vectors], bit[vectors];
    for (int g = 0; g < vectors; ++g) {
      std::uint64_t first[count], lane_bit[count];
      for (int c = 0; c < count; ++c) {
        auto const lane = static_cast<std::uint64_t>(g * count + c);
        first[c] = call.counter.first + lane * call.counter.query,
        lane_bit[c] = std::uint64_t{1} << lane;
      }
      counters[g] = load_lanes<V>(first), bit[g] = load_lanes<V>(lane_bit);
    }
    // Hashes have 32 bits, so a signed comparison is exact. It is also cheaper.
    signed_lanes const last_dropped =
        broadcast<signed_lanes>(static_cast<std::int64_t>(call.threshold) - 1);
    for (int j = 0; j < call.rows; ++j) {
      index_t const key = call.keys != nullptr ? call.keys[j] : call.key + j;
      V const row = broadcast<V>(detail::counter_step * static_cast<std::uint64_t>(key));
      V keep{};
      for (int g = 0; g < vectors; ++g) {
        V const hash = hash_of(counters[g] + row);
        signed_lanes const kept_lanes = greater(load_lanes<signed_lanes>(&hash), last_dropped);
        keep = keep | (load_lanes<V>(&kept_lanes) & bit[g]);
      }
      std::uint64_t lane_bits[count], bits = 0;
      store_lanes(lane_bits, keep);
      for (std::uint64_t const lane : lane_bits) bits |= lane;
      call.keep[j] = bits;
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
