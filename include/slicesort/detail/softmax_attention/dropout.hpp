// SPDX-License-Identifier: Apache-2.0
// Which weights of attention dropout keeps: the weight of query i and key j of sample b and head h
// if counter_hash32(seed, b * heads + h, i * keys + j) >= rate * 2^32. Indices are those of the
// tensors, whatever lengths say and however keys are gathered.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

struct dropout_rule {
  std::uint64_t seed = 0, least = 0;  // keeps 32 bits that are no less; 0: all
  double scale = 1;                   // of what is kept: 1 / (1 - rate)

  // The rate must have been checked.
  static dropout_rule of(dropout d) {
    return {d.seed, static_cast<std::uint64_t>(std::ceil(d.rate * 4294967296.0)), 1 / (1 - d.rate)};
  }
  SLICESORT_HD constexpr bool drops() const { return least != 0; }
  // The seed of the numbers of a sample and a head, pair = b * heads + h.
  SLICESORT_HD constexpr std::uint64_t seed_of(index_t pair) const {
    return counter_hash64(seed, static_cast<std::uint64_t>(pair));
  }
  // Of the weight with the number `counter`, what is hashed is
  // seed_of(pair) + counter_step * (counter + 1).
  SLICESORT_HD constexpr bool keeps(std::uint64_t hashed) const {
    return mix64(hashed) >> 32 >= least;
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
