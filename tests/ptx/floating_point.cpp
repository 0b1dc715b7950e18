// SPDX-License-Identifier: Apache-2.0
// Floating-point instructions: results computed by hand, as bits. 0f3f800000 is 1, 0f40000000 is 2,
// 0f7f800000 is infinity, 0f80000000 is -0, 0f00000001 is the smallest subnormal and 0f00800000 the
// smallest normal number; 0d3ff0000000000000 is 1.
#include "run_text.hpp"

#include <doctest/doctest.h>

#include <cfenv>

using run_text::check;
using run_text::evaluate;

TEST_CASE("add, sub and mul round to nearest, ties to even") {
  check({{"add.f32 %f1, 0f3f800000, 0f40000000", 0x40400000},
         {"add.rn.f32 %f1, 0f3f800000, 0f33800000", 0x3f800000},  // 1 + 2^-24: a tie, 1 is even
         {"add.rn.f32 %f1, 0f3f800001, 0f33800000", 0x3f800002},
         {"sub.f32 %f1, 0f3f800000, 0f3f800000", 0},
         {"sub.f64 %e1, 0d3ff0000000000000, 0d4000000000000000", 0xbff0000000000000},
         {"mul.f32 %f1, 0f3fc00000, 0f3fc00000", 0x40100000},  // 1.5 * 1.5
         {"mul.rn.f64 %e1, 0d3ff8000000000000, 0dbff8000000000000", 0xc002000000000000},
         {"add.f64 %e1, 0d3ff0000000000000, 0d3ca0000000000000", 0x3ff0000000000000}});
}

TEST_CASE("fma rounds once") {
  // (1 + 2^-23)^2 - (1 + 2^-22) is 2^-46, which a rounded product would lose.
  check({{"fma.rn.f32 %f1, 0f3f800001, 0f3f800001, 0fbf800002", 0x28800000},
         {"fma.rn.f64 %e1, 0d4000000000000000, 0d4008000000000000, 0dbff0000000000000",
          0x4014000000000000},
         {"mad.rn.f32 %f1, 0f40000000, 0f40400000, 0fbf800000", 0x40a00000}});
}

TEST_CASE("div, rcp and sqrt are rounded to nearest") {
  check({{"div.rn.f32 %f1, 0f3f800000, 0f40400000", 0x3eaaaaab},
         {"div.rn.f64 %e1, 0d3ff0000000000000, 0d4008000000000000", 0x3fd5555555555555},
         {"div.rn.f32 %f1, 0f3f800000, 0f80000000", 0xff800000},
         {"rcp.rn.f32 %f1, 0f40400000", 0x3eaaaaab},
         {"rcp.rn.f64 %e1, 0d4000000000000000", 0x3fe0000000000000},
         {"sqrt.rn.f32 %f1, 0f40000000", 0x3fb504f3},
         {"sqrt.rn.f64 %e1, 0d4010000000000000", 0x4000000000000000}});
}

TEST_CASE("every NaN becomes the canonical one") {
  check({{"sub.f32 %f1, 0f7f800000, 0f7f800000", 0x7fffffff},
         {"add.f32 %f1, 0fffc12345, 0f3f800000", 0x7fffffff},
         {"mul.f32 %f1, 0f00000000, 0fff800000", 0x7fffffff},
         {"fma.rn.f32 %f1, 0f7f800000, 0f00000000, 0f3f800000", 0x7fffffff},
         {"div.rn.f32 %f1, 0f00000000, 0f00000000", 0x7fffffff},
         {"rcp.rn.f32 %f1, 0f7f800001", 0x7fffffff},
         {"sqrt.rn.f32 %f1, 0fbf800000", 0x7fffffff},
         {"ex2.approx.ftz.f32 %f1, 0fffffffff", 0x7fffffff},
         {"sub.f64 %e1, 0d7ff0000000000000, 0d7ff0000000000000", 0x7fffffffffffffff},
         {"fma.rn.f64 %e1, 0d7ff8000000000123, 0d3ff0000000000000, 0d3ff0000000000000",
          0x7fffffffffffffff}});
}

TEST_CASE("min and max ignore one NaN, and order -0 below +0") {
  check({{"min.f32 %f1, 0f3f800000, 0f40000000", 0x3f800000},
         {"max.f32 %f1, 0f3f800000, 0f40000000", 0x40000000},
         {"min.f32 %f1, 0f7fc00000, 0f40000000", 0x40000000},
         {"max.f32 %f1, 0f40000000, 0fffffffff", 0x40000000},
         {"min.f32 %f1, 0f7fc00000, 0fffc00000", 0x7fffffff},
         {"min.f32 %f1, 0f00000000, 0f80000000", 0x80000000},
         {"min.f32 %f1, 0f80000000, 0f00000000", 0x80000000},
         {"max.f32 %f1, 0f80000000, 0f00000000", 0},
         {"max.f64 %e1, 0d0000000000000000, 0d8000000000000000", 0},
         {"max.f64 %e1, 0d7ff8000000000000, 0dbff0000000000000", 0xbff0000000000000},
         {"min.NaN.f32 %f1, 0f3f800000, 0f7fc00000", 0x7fffffff},
         {"max.NaN.f32 %f1, 0f3f800000, 0f40000000", 0x40000000},
         {"max.ftz.f32 %f1, 0f00000001, 0f80000000", 0}});
}

TEST_CASE("abs and neg only change the sign") {
  check({{"abs.f32 %f1, 0fbf800000", 0x3f800000},
         {"neg.f32 %f1, 0f00000000", 0x80000000},
         {"neg.f64 %e1, 0d3ff0000000000000", 0xbff0000000000000},
         {"abs.f64 %e1, 0d8000000000000000", 0},
         {"abs.ftz.f32 %f1, 0f80000001", 0}});
}

TEST_CASE("subnormal numbers are supported; .ftz flushes them to zero of the same sign") {
  check({{"add.f32 %f1, 0f00000001, 0f00000001", 2},
         {"add.ftz.f32 %f1, 0f00000001, 0f00000001", 0},
         {"mul.ftz.f32 %f1, 0f80000001, 0f3f800000", 0x80000000},
         {"mul.f32 %f1, 0f00800000, 0f3f000000", 0x00400000},
         {"mul.ftz.f32 %f1, 0f80800000, 0f3f000000", 0x80000000},  // a result that becomes zero
         {"mul.ftz.f32 %f1, 0f00800000, 0f3f800000", 0x00800000},
         {"fma.rn.ftz.f32 %f1, 0f3f800000, 0f00000001, 0f3f800000", 0x3f800000},
         {"div.rn.ftz.f32 %f1, 0f3f800000, 0f00000001", 0x7f800000},
         {"sqrt.rn.ftz.f32 %f1, 0f00000001", 0}});
}

TEST_CASE("ex2 of integers and of numbers out of range") {
  check({{"ex2.approx.ftz.f32 %f1, 0f00000000", 0x3f800000},
         {"ex2.approx.ftz.f32 %f1, 0f40400000", 0x41000000},  // 2^3
         {"ex2.approx.ftz.f32 %f1, 0fc2fc0000", 0x00800000},  // 2^-126
         {"ex2.approx.ftz.f32 %f1, 0fc2fe0000", 0},           // 2^-127
         {"ex2.approx.f32 %f1, 0fc2fe0000", 0x00400000},
         {"ex2.approx.ftz.f32 %f1, 0fff800000", 0},
         {"ex2.approx.ftz.f32 %f1, 0f43000000", 0x7f800000},  // 2^128
         {"ex2.approx.ftz.f32 %f1, 0f00000001", 0x3f800000}});
}

TEST_CASE("the caller's rounding mode is ignored and preserved") {
  std::fesetround(FE_UPWARD);
  std::uint64_t const sum = evaluate("add.rn.f32 %f1, 0f3f800000, 0f33000000");  // 1 + 2^-25
  int const after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  CHECK(sum == 0x3f800000);
  CHECK(after == FE_UPWARD);
}
