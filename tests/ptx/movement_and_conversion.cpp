// SPDX-License-Identifier: Apache-2.0
// mov, prmt and cvt: results computed by hand.
#include "run_text.hpp"

#include <doctest/doctest.h>

using run_text::check;
using run_text::evaluate;
using run_text::lanes_after;

TEST_CASE("mov takes immediates of every kind") {
  check({{"mov.u32 %r1, 0x1F", 31},
         {"mov.u32 %r1, 4294967295U", 0xffffffff},
         {"mov.s32 %r1, -1", 0xffffffff},
         {"mov.b16 %h1, -32768", 0x8000},
         {"mov.b64 %d1, -4294967296", 0xffffffff00000000},
         {"mov.u32 %r1, WARP_SZ", 32},
         {"mov.pred %p1, -1", 1},
         {"mov.pred %p1, 0", 0},
         {"mov.f32 %f1, 0fFF800000", 0xff800000},
         {"mov.f64 %e1, 0DfFf0000000000001", 0xfff0000000000001},
         {"mov.b32 %r1, 0f3f800000", 0x3f800000}});
}

TEST_CASE("mov packs elements, the first lowest, and unpacks them") {
  check({{"mov.b64 %d1, {1, 2}", 0x200000001},
         {"mov.b32 %r1, {0x1234, 0x5678}", 0x56781234},
         {"mov.b64 %d1, {1, 2, 3, 0xffff}", 0xffff000300020001}});
  CHECK(lanes_after("mov.b64 {%r1, %r2}, 0x1122334455667788;", "%r1")[5] == 0x55667788);
  CHECK(lanes_after("mov.b64 {%r1, %r2}, 0x1122334455667788;", "%r2")[5] == 0x11223344);
  CHECK(lanes_after("mov.b32 {_, %h2}, 0x11223344;", "%h2")[31] == 0x1122);
  CHECK(lanes_after("mov.b64 {%h1, %h2, %h3, %h4}, 0x1122334455667788;", "%h3")[0] == 0x3344);
}

TEST_CASE("prmt selects bytes or their signs") {
  check({{"prmt.b32 %r1, 0x33221100, 0x77665544, 0x3210", 0x33221100},
         {"prmt.b32 %r1, 0x33221100, 0x77665544, 0x7654", 0x77665544},
         {"prmt.b32 %r1, 0x33221100, 0x77665544, 0x5410", 0x55441100},
         {"prmt.b32 %r1, 0x00008000, 0, 0x9991", 0xffffff80}});
}

TEST_CASE("cvt of integers truncates, zero-extends or sign-extends") {
  check({{"cvt.u32.u64 %r1, 0x1234567890", 0x34567890},
         {"cvt.u64.u32 %d1, 0xffffffff", 0xffffffff},
         {"cvt.s64.s32 %d1, -2", 0xfffffffffffffffe},
         {"cvt.u16.u32 %h1, 0x12345", 0x2345},
         {"cvt.u32.u16 %r1, 0xffff", 0xffff},
         {"cvt.s32.s16 %r1, -1", 0xffffffff},
         {"cvt.u64.s32 %d1, -1", 0xffffffffffffffff}});
  // The register is wider than the type.
  CHECK(lanes_after("mov.b32 %r1, 0x80ff80;\ncvt.s8.s32 %r2, %r1;", "%r2")[3] == 0xffffff80);
  CHECK(lanes_after("mov.b32 %r1, 0x80ff80;\ncvt.u8.u32 %r2, %r1;", "%r2")[3] == 0x80);
  CHECK(lanes_after("mov.b16 %h1, 0xff80;\ncvt.s32.s8 %r2, %h1;", "%r2")[3] == 0xffffff80);
  CHECK(lanes_after("mov.b16 %h1, 0xff80;\ncvt.u32.u8 %r2, %h1;", "%r2")[3] == 0x80);
}

TEST_CASE("cvt of integers to floats rounds to nearest, ties to even") {
  check({{"cvt.rn.f32.s32 %f1, -3", 0xc0400000},
         {"cvt.rn.f32.u32 %f1, 0xffffffff", 0x4f800000},
         {"cvt.rn.f32.s32 %f1, 16777217", 0x4b800000},  // 2^24 + 1
         {"cvt.rn.f32.s32 %f1, 16777219", 0x4b800002},
         {"cvt.rn.f32.u16 %f1, 0xffff", 0x477fff00},
         {"cvt.rn.f32.u64 %f1, 0x8000008000000001", 0x5f000001},  // just above a tie
         {"cvt.rn.f64.s64 %e1, -1", 0xbff0000000000000},
         {"cvt.rn.f64.u64 %e1, 0xffffffffffffffff", 0x43f0000000000000}});
}

TEST_CASE("cvt of floats to integers rounds by its modifier") {
  struct rounding_results {
    char const* name;
    std::uint64_t from_2_5, from_minus_2_5, from_3_5;
  };
  for (rounding_results const& d : {rounding_results{"rni", 2, 0xfffffffe, 4},
                                    {"rzi", 2, 0xfffffffe, 3},
                                    {"rmi", 2, 0xfffffffd, 3},
                                    {"rpi", 3, 0xfffffffe, 4}}) {
    std::string const cvt = std::string("cvt.") + d.name + ".s32";
    CHECK(evaluate(cvt + ".f32 %r1, 0f40200000") == d.from_2_5);
    CHECK(evaluate(cvt + ".f32 %r1, 0fc0200000") == d.from_minus_2_5);
    CHECK(evaluate(cvt + ".f64 %r1, 0d400c000000000000") == d.from_3_5);
  }
  check({{"cvt.rmi.f32.f32 %f1, 0fc0200000", 0xc0400000},
         {"cvt.rni.f64.f64 %e1, 0d4004000000000000", 0x4000000000000000},
         {"cvt.rpi.ftz.s32.f32 %r1, 0f00000001", 0},
         {"cvt.rpi.s32.f32 %r1, 0f00000001", 1}});
}

TEST_CASE("cvt of floats to integers saturates, and converts NaN as the manual defines") {
  check({{"cvt.rzi.s32.f32 %r1, 0f4f000000", 0x7fffffff},  // 2^31
         {"cvt.rzi.s32.f32 %r1, 0fff800000", 0x80000000},
         {"cvt.rzi.s32.f32 %r1, 0fcf000000", 0x80000000},  // -2^31 is representable
         {"cvt.rzi.u32.f32 %r1, 0fbf800000", 0},
         {"cvt.rzi.u32.f32 %r1, 0f4f800000", 0xffffffff},
         {"cvt.rzi.u64.f64 %d1, 0d43f0000000000000", 0xffffffffffffffff},
         {"cvt.rzi.s64.f64 %d1, 0dc3e0000000000000", 0x8000000000000000},
         {"cvt.rzi.s16.f32 %h1, 0f47c35000", 0x7fff},  // 100000
         {"cvt.rzi.s32.f32 %r1, 0f7fc00000", 0},
         {"cvt.rzi.u16.f32 %h1, 0f7fc00000", 0},
         {"cvt.rzi.s64.f32 %d1, 0f7fc00000", 0x8000000000000000},
         {"cvt.rzi.s32.f64 %r1, 0d7ff8000000000000", 0x80000000},
         {"cvt.rzi.u32.f64 %r1, 0d7ff8000000000000", 0x80000000}});
}

TEST_CASE("cvt between floats") {
  check({{"cvt.f64.f32 %e1, 0f3fc00000", 0x3ff8000000000000},
         {"cvt.f64.f32 %e1, 0f00000001", 0x36a0000000000000},
         {"cvt.ftz.f64.f32 %e1, 0f80000001", 0x8000000000000000},
         {"cvt.f64.f32 %e1, 0fffc00001", 0x7fffffffffffffff},
         {"cvt.rn.f32.f64 %f1, 0d3ff0000010000000", 0x3f800000},  // 1 + 2^-24: a tie
         {"cvt.rn.f32.f64 %f1, 0d3ff0000010000001", 0x3f800001},
         {"cvt.rn.f32.f64 %f1, 0d47f0000000000000", 0x7f800000},
         {"cvt.rn.f32.f64 %f1, 0d36a0000000000000", 1},
         {"cvt.rn.ftz.f32.f64 %f1, 0d36a0000000000000", 0},
         {"cvt.rn.f32.f64 %f1, 0dfff8000000000001", 0x7fffffff}});
}

TEST_CASE("cvt to 16-bit floats rounds to nearest, ties to even") {
  check({{"cvt.rn.f16.f32 %h1, 0f3f800000", 0x3c00},
         {"cvt.rn.f16.f32 %h1, 0f3f801000", 0x3c00},  // 1 + 2^-11: a tie
         {"cvt.rn.f16.f32 %h1, 0f3f801001", 0x3c01},
         {"cvt.rn.f16.f32 %h1, 0f3f803000", 0x3c02},
         {"cvt.rn.f16.f32 %h1, 0f477fefff", 0x7bff},  // just below 65520
         {"cvt.rn.f16.f32 %h1, 0f477ff000", 0x7c00},
         {"cvt.rn.f16.f32 %h1, 0fff800000", 0xfc00},
         {"cvt.rn.f16.f32 %h1, 0f387fc000", 0x03ff},  // the largest subnormal
         {"cvt.rn.f16.f32 %h1, 0f387ff000", 0x0400},  // a tie, rounded up to a normal number
         {"cvt.rn.f16.f32 %h1, 0fb3000000", 0x8000},  // -2^-25: a tie
         {"cvt.rn.f16.f32 %h1, 0fb3000001", 0x8001},
         {"cvt.rn.f16.f32 %h1, 0fffc00000", 0x7fff},
         {"cvt.rn.bf16.f32 %h1, 0f3f808000", 0x3f80},
         {"cvt.rn.bf16.f32 %h1, 0f3f808001", 0x3f81},
         {"cvt.rn.bf16.f32 %h1, 0f3f818000", 0x3f82},
         {"cvt.rn.bf16.f32 %h1, 0f7f7fffff", 0x7f80},
         {"cvt.rn.bf16.f32 %h1, 0fff800001", 0x7fff},
         {"cvt.rn.bf16.f32 %h1, 0f80000001", 0x8000},
         {"cvt.rn.f16x2.f32 %r1, 0f40000000, 0f3f800000", 0x40003c00},
         {"cvt.rn.bf16x2.f32 %r1, 0f40000000, 0f3f800000", 0x40003f80}});
}

TEST_CASE("cvt from 16-bit floats is exact") {
  auto const widened = [](char const* type, char const* bits) {
    return lanes_after(std::string("mov.b16 %h1, ") + bits + ";\ncvt.f32." + type + " %f1, %h1;",
                       "%f1")[0];
  };
  CHECK(widened("f16", "0x3c01") == 0x3f802000);
  CHECK(widened("f16", "0x8001") == 0xb3800000);
  CHECK(widened("f16", "0x03ff") == 0x387fc000);
  CHECK(widened("f16", "0xfbff") == 0xc77fe000);
  CHECK(widened("f16", "0xfc00") == 0xff800000);
  CHECK(widened("f16", "0xfe00") == 0x7fffffff);
  CHECK(widened("f16", "0x8000") == 0x80000000);
  CHECK(widened("bf16", "0xc0a0") == 0xc0a00000);
  CHECK(widened("bf16", "0x0001") == 0x00010000);
  CHECK(widened("bf16", "0xff81") == 0x7fffffff);
}
