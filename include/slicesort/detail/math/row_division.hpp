// SPDX-License-Identifier: Apache-2.0
// Division of many row numbers by a divisor that is known before a kernel runs, as a multiplication
// and a shift (Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI
// 1994, fig. 4.1).
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

class row_division {
 public:
  row_division() = default;
  // 1 <= by <= 2^31
  explicit constexpr row_division(index_t by) {
    while ((index_t{1} << shift_) < by) ++shift_;
    auto const d = static_cast<std::uint64_t>(by);
    factor_ = static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - d) << 32) / d + 1);
  }
  // n / by, for n < 2^31
  SLICESORT_HD constexpr std::uint32_t operator()(std::uint32_t n) const {
    auto const high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(n) * factor_ >> 32);
    return (high + n) >> shift_;
  }

 private:
  std::uint32_t factor_ = 1;
  int shift_ = 0;
};

// Division of any number by a constant of at least 1, quick where both are below 2^31.
class index_division {
 public:
  index_division() = default;
  explicit constexpr index_division(index_t by) : by_(by) {
    if (by <= most) quick_ = row_division(by);
  }
  SLICESORT_HD constexpr index_t operator()(index_t n) const {
    return n <= most && by_ <= most ? static_cast<index_t>(quick_(static_cast<std::uint32_t>(n)))
                                    : n / by_;
  }

 private:
  static constexpr index_t most = 0x7fffffff;
  row_division quick_;
  index_t by_ = 1;
};

// Brings a row number of either sign into 0..length-1, or to 0 if there are no rows.
SLICESORT_HD constexpr index_t wrapped(index_t rows, index_t length) {
  if (length <= 0) return 0;
  index_t const rest = rows % length;
  return rest < 0 ? rest + length : rest;
}

SLICESORT_DETAIL_END
