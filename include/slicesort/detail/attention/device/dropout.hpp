// SPDX-License-Identifier: Apache-2.0
// Dropout of the weights of a tile.
#pragma once

#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/dropout.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Query and key indices of a tile's first row and column, in a head with `keys` keys.
struct tile_origin {
  head_index head;
  index_t keys, query, key;
};

// Dropout mask of the weights that a lane holds. Rows of the tile are queries, or keys if
// Transposed.
template <bool Transposed, int Rows, int Columns>
class keep_mask {
  using tile = register_tile<float, Rows, Columns>;
  static constexpr int bits_per_word = tile::count < 32 ? tile::count : 32,
                       words = tile::count / bits_per_word;

 public:
  template <class Block>
  SLICESORT_HD_INLINE void compute(Block& block, dropout_config const& dropout,
                                   tile_origin const& origin) {
    tile_lane const lane(Block::opaque(block.rank()));
    // The hash input increases by one step per key, and by `keys` steps per query.
    std::uint64_t const key_step = counter_step,
                        query_step = key_step * static_cast<std::uint64_t>(origin.keys),
                        first = dropout.seed_of(origin.head.sample, origin.head.head) +
                                query_step * static_cast<std::uint64_t>(origin.query) +
                                key_step * static_cast<std::uint64_t>(origin.key + 1);
    SLICESORT_UNROLL
    for (int word = 0; word < words; ++word) {
      std::uint32_t bits = 0;
      // Computes one hash at a time, because the sums occupy the registers.
      SLICESORT_NO_UNROLL
      for (int n = 0; n < bits_per_word; ++n) {
        auto const row = static_cast<std::uint64_t>(tile::row(32 * word + n, lane)),
                   column = static_cast<std::uint64_t>(tile::column(32 * word + n, lane));
        bits |= std::uint32_t{dropout.keeps(first + (Transposed ? column : row) * query_step +
                                            (Transposed ? row : column) * key_step)}
                << n;
      }
      bits_[word] = bits;
    }
  }
  SLICESORT_HD_INLINE bool operator()(int i) const { return (bits_[i / 32] >> i % 32 & 1) != 0; }

 private:
  std::uint32_t bits_[static_cast<std::size_t>(words)] = {};
};

template <class A, class Keep, int Rows, int Columns>
SLICESORT_HD_INLINE void drop_weights(register_tile<A, Rows, Columns>& weights, Keep const& keep) {
  SLICESORT_UNROLL
  for (int i = 0; i < weights.count; ++i) weights[i] = keep(i) ? weights[i] : A(0);
}

SLICESORT_DETAIL_END
