// SPDX-License-Identifier: Apache-2.0
// Order policy selected at run time, so that every operator is compiled once.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

namespace support {

// Channel c ascends if bit c mod 64 is set.
struct pattern_order {
  std::uint64_t ascending_bits = ~std::uint64_t{0};
  SLICESORT_HD bool ascending(slicesort::index_t channel, slicesort::index_t) const {
    return ((ascending_bits >> (channel % 64)) & 1) != 0;
  }
};
inline constexpr std::uint64_t up = ~std::uint64_t{0}, down = 0, zigzag = 0x5555555555555555u,
                               irregular = 0x9d2c5680f1e37b46u;

}  // namespace support
