// SPDX-License-Identifier: Apache-2.0
// The hashes that decide which weights dropout keeps (../dropout.hpp), for a tile at a time.
// Included once per instruction set.

struct kept_weights {
  static constexpr int count = vector_bytes / 8, vectors = attention_queries / count;
  using V = vec<std::uint64_t, count>;
  using signed_lanes = vec<std::int64_t, count>;

  static void find(kept_weights_call const& p) {
    V mixed[vectors], bit[vectors];
    for (int g = 0; g < vectors; ++g) {
      std::uint64_t first[count], one[count];
      for (int c = 0; c < count; ++c) {
        auto const lane = static_cast<std::uint64_t>(g * count + c);
        first[c] = p.mixed.first + lane * p.mixed.query, one[c] = std::uint64_t{1} << lane;
      }
      mixed[g] = load_lanes<V>(first), bit[g] = load_lanes<V>(one);
    }
    // Numbers of 32 bits, so that comparing them as signed ones is right, and cheaper.
    signed_lanes const below = broadcast<signed_lanes>(static_cast<std::int64_t>(p.least) - 1);
    for (int j = 0; j < p.rows; ++j) {
      index_t const key = p.keys != nullptr ? p.keys[j] : p.key + j;
      V const row = broadcast<V>(detail::counter_step * static_cast<std::uint64_t>(key));
      V kept{};
      for (int g = 0; g < vectors; ++g) {
        V const hash = hash_of(mixed[g] + row);
        signed_lanes const is = greater(load_lanes<signed_lanes>(&hash), below);
        kept = kept | (load_lanes<V>(&is) & bit[g]);
      }
      std::uint64_t each[count], all = 0;
      store_lanes(each, kept);
      for (std::uint64_t const one : each) all |= one;
      p.to[j] = all;
    }
  }

 private:
  // The upper 32 bits of detail::mix64(z).
  static SLICESORT_INLINE V hash_of(V z) {
    z = (z ^ (z >> 30)) * broadcast<V>(std::uint64_t{0xbf58476d1ce4e5b9u});
    z = (z ^ (z >> 27)) * broadcast<V>(std::uint64_t{0x94d049bb133111ebu});
    return (z >> 32) ^ (z >> 63);
  }
};
