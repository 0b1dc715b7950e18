// SPDX-License-Identifier: Apache-2.0
// Division by a divisor that a kernel uses many times, as a multiplication and a shift (Granlund
// and Montgomery, "Division by invariant integers using multiplication", PLDI 1994, fig. 4.1).
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

class row_division {
 public:
  row_division() = default;
  // Requires 1 <= divisor <= 2^31.
  explicit constexpr row_division(index_t divisor) {
    while ((index_t{1} << shift_) < divisor) ++shift_;
    auto const d = static_cast<std::uint64_t>(divisor);
    factor_ = static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - d) << 32) / d + 1);
  }
  // Returns n / divisor. Requires n < 2^31.
  SLICESORT_HD constexpr std::uint32_t operator()(std::uint32_t n) const {
    auto const high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(n) * factor_ >> 32);
    return (high + n) >> shift_;
  }

 private:
  std::uint32_t factor_ = 1;
  int shift_ = 0;
};

// Division of any index by a fixed divisor >= 1. Fast if both are below 2^31.
class index_division {
 public:
  index_division() = default;
  explicit constexpr index_division(index_t divisor) : divisor_(divisor) {
    if (divisor <= max_fast) fast_ = row_division(divisor);
  }
  SLICESORT_HD constexpr index_t operator()(index_t n) const {
    return n <= max_fast && divisor_ <= max_fast
               ? static_cast<index_t>(fast_(static_cast<std::uint32_t>(n)))
               : n / divisor_;
  }

 private:
  static constexpr index_t max_fast = 0x7fffffff;
  row_division fast_;
  index_t divisor_ = 1;
};

// Wraps a row number of either sign to 0..length-1. Returns 0 if there are no rows.
SLICESORT_HD constexpr index_t wrap_row(index_t row, index_t length) {
  if (length <= 0) return 0;
  index_t const remainder = row % length;
  return remainder < 0 ? remainder + length : remainder;
}

SLICESORT_DETAIL_END
