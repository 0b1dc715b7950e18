// SPDX-License-Identifier: Apache-2.0
// Exact powers of integers, to bracket irrational powers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

// A natural number as 32-bit digits, lowest first, without leading zeros.
class big_integer {
 public:
  explicit big_integer(std::uint32_t value = 1) { digits_.push_back(value); }

  big_integer& operator*=(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& digit : digits_) {
      carry += std::uint64_t{digit} * factor;
      digit = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) digits_.push_back(static_cast<std::uint32_t>(carry));
    if (factor == 0) digits_.assign(1, 0);
    return *this;
  }
  friend bool operator<(big_integer const& a, big_integer const& b) {
    if (a.digits_.size() != b.digits_.size()) return a.digits_.size() < b.digits_.size();
    for (std::size_t i = a.digits_.size(); i > 0; --i)
      if (a.digits_[i - 1] != b.digits_[i - 1]) return a.digits_[i - 1] < b.digits_[i - 1];
    return false;
  }

 private:
  std::vector<std::uint32_t> digits_;
};

// base^exponent * 2^doublings; 0^0 is 1.
inline big_integer big_power(std::int64_t base, std::int64_t exponent, std::int64_t doublings = 0) {
  big_integer result;
  for (; exponent > 0; --exponent) result *= static_cast<std::uint32_t>(base);
  for (; doublings > 0; --doublings) result *= 2;
  return result;
}

}  // namespace support
