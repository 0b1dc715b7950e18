// SPDX-License-Identifier: Apache-2.0
// Dropout of attention weights. The weight of query i and key j of sample b and head h is kept if
// counter_hash32(seed, b * heads + h, i * keys + j) >= rate * 2^32. The indices are positions in
// the tensors, independent of lengths and of gathered keys. If a call computes a slice of a batch,
// b, h and heads refer to the whole batch.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

struct dropout_config {
  std::uint64_t seed = 0, threshold = 0;    // keeps 32-bit hashes >= threshold; 0 means no dropout
  double scale = 1;                         // factor of kept weights: 1 / (1 - rate)
  std::uint64_t heads = 0, first_head = 0;  // heads of the whole batch; first head of this call

  // Requires checked options.
  static dropout_config make(dropout options, index_t total_heads) {
    dropout_config config;
    config.seed = options.seed;
    config.threshold = static_cast<std::uint64_t>(std::ceil(options.rate * 4294967296.0));
    config.scale = 1 / (1 - options.rate);
    config.heads = static_cast<std::uint64_t>(options.heads == 0 ? total_heads : options.heads);
    config.first_head = static_cast<std::uint64_t>(options.first_sample) * config.heads +
                        static_cast<std::uint64_t>(options.first_head);
    return config;
  }
  SLICESORT_HD constexpr bool is_enabled() const { return threshold != 0; }
  // Hash seed of one head of the call.
  SLICESORT_HD constexpr std::uint64_t seed_of(index_t sample, index_t head) const {
    return counter_hash64(seed, first_head + static_cast<std::uint64_t>(sample) * heads +
                                    static_cast<std::uint64_t>(head));
  }
  // Requires hash_input = seed_of(sample, head) + counter_step * (index of the weight + 1).
  SLICESORT_HD constexpr bool keeps(std::uint64_t hash_input) const {
    return mix64(hash_input) >> 32 >= threshold;
  }
};

SLICESORT_DETAIL_END
