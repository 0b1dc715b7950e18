// SPDX-License-Identifier: Apache-2.0
// Floats that tensor cores multiply as TF32: 8 bits of exponent, and 11 significant bits.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// A float whose last 13 bits are 0. It is rounded to the nearest such number, of two the one that
// is farther from 0, as cvt.rna.tf32 does.
struct tf32 {
  float number;

  tf32() = default;
  SLICESORT_HD explicit tf32(float value) {
    std::uint32_t const u = bit_cast<std::uint32_t>(value);
    bool const nan = (u & 0x7fffffffu) > 0x7f800000u;
    number = bit_cast<float>(nan ? 0x7fffe000u : (u + 0x1000u) & 0xffffe000u);
  }
  SLICESORT_HD explicit operator float() const { return number; }
};

SLICESORT_DETAIL_END
