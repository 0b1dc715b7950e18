// SPDX-License-Identifier: Apache-2.0
// Integer instructions: results computed by hand.
#include "run_text.hpp"

#include <doctest/doctest.h>

using run_text::check;
using run_text::evaluate;
using run_text::lanes_after;

TEST_CASE("add and sub wrap around") {
  check({{"add.s32 %r1, 7, -5", 2},
         {"add.s32 %r1, 0x7fffffff, 1", 0x80000000},
         {"add.u32 %r1, 0xffffffff, 2", 1},
         {"add.s64 %d1, 0x7fffffffffffffff, 1", 0x8000000000000000},
         {"add.u64 %d1, 0xffffffffffffffff, 3", 2},
         {"add.s16 %h1, 0x7fff, 1", 0x8000},
         {"add.u16 %h1, 0xffff, 0xffff", 0xfffe},
         {"sub.s32 %r1, 3, 5", 0xfffffffe},
         {"sub.u64 %d1, 0, 1", 0xffffffffffffffff},
         {"sub.s16 %h1, -32768, 1", 0x7fff}});
}

TEST_CASE("mul and mad compute the low half, the high half, or the whole product") {
  check({{"mul.lo.s32 %r1, -3, 7", 0xffffffeb},
         {"mul.lo.u32 %r1, 0x10001, 0x10001", 0x20001},
         {"mul.lo.s16 %h1, 300, 300", 24464},  // 90000 - 65536
         {"mul.lo.u16 %h1, 0xffff, 0xffff", 1},
         {"mul.lo.s64 %d1, 0x100000001, 0x100000001", 0x200000001},
         {"mul.hi.u32 %r1, 0xffffffff, 0xffffffff", 0xfffffffe},
         {"mul.hi.s32 %r1, -1, 5", 0xffffffff},
         {"mul.hi.s32 %r1, 0x40000000, 8", 2},
         {"mul.hi.u16 %h1, 0x8000, 6", 3},
         {"mul.hi.u64 %d1, 0xffffffffffffffff, 0xffffffffffffffff", 0xfffffffffffffffe},
         {"mul.hi.s64 %d1, -1, 1", 0xffffffffffffffff},
         {"mul.wide.s32 %d1, -2, 3", 0xfffffffffffffffa},
         {"mul.wide.u32 %d1, 0xffffffff, 0xffffffff", 0xfffffffe00000001},
         {"mul.wide.s16 %r1, -300, 300", 0xfffea070},  // -90000
         {"mul.wide.u16 %r1, 0xffff, 2", 0x1fffe},
         {"mad.lo.s32 %r1, 5, -6, 31", 1},
         {"mad.lo.u64 %d1, 0x8000000000000000, 2, 9", 9},
         {"mad.hi.u32 %r1, 0x80000000, 4, 40", 42},
         {"mad.wide.s32 %d1, -1, 1, 0x100000000", 0xffffffff},
         {"mad.wide.u16 %r1, 0x100, 0x100, 0xffff0000", 0}});
}

TEST_CASE("div and rem round towards zero") {
  check({{"div.s32 %r1, -7, 2", 0xfffffffd},
         {"div.u32 %r1, 0xfffffff9, 2", 0x7ffffffc},
         {"div.s64 %d1, -9, -4", 2},
         {"div.u64 %d1, 0xffffffffffffffff, 10", 0x1999999999999999},
         {"div.s16 %h1, 100, -7", 0xfff2},
         {"div.s32 %r1, 0x80000000, -1", 0x80000000},
         {"rem.s32 %r1, -7, 2", 0xffffffff},
         {"rem.s64 %d1, 7, -4", 3},
         {"rem.u32 %r1, 0xfffffff9, 10", 9},
         {"rem.s64 %d1, 0x8000000000000000, -1", 0}});
}

TEST_CASE("a division by zero is a fault, but not in an inactive lane") {
  CHECK_THROWS_WITH_AS(evaluate("div.s32 %r1, 5, 0"),
                       doctest::Contains("division by zero in lane 0"), ptx::fault);
  CHECK_THROWS_WITH_AS(evaluate("rem.u64 %d1, 5, 0"), doctest::Contains("division by zero"),
                       ptx::fault);
  auto const quotients = lanes_after(
      "mov.u32 %r2, %laneid;\nsetp.ne.s32 %p1, %r2, 0;\nmov.u32 %r1, 77;\n"
      "@%p1 div.u32 %r1, 62, %r2;",
      "%r1");
  CHECK(quotients[0] == 77);
  CHECK(quotients[1] == 62);
  CHECK(quotients[31] == 2);
}

TEST_CASE("abs, neg, min and max") {
  check({{"abs.s32 %r1, -5", 5},
         {"abs.s16 %h1, -32768", 0x8000},
         {"abs.s64 %d1, 6", 6},
         {"neg.s32 %r1, 5", 0xfffffffb},
         {"neg.s16 %h1, -1", 1},
         {"neg.s64 %d1, 0x8000000000000000", 0x8000000000000000},
         {"min.s32 %r1, -1, 1", 0xffffffff},
         {"min.u32 %r1, -1, 1", 1},
         {"max.s32 %r1, -1, 1", 1},
         {"max.u32 %r1, -1, 1", 0xffffffff},
         {"min.s64 %d1, -1, 1", 0xffffffffffffffff},
         {"max.u64 %d1, -1, 1", 0xffffffffffffffff},
         {"max.s16 %h1, -2, -3", 0xfffe},
         {"min.u16 %h1, 0xfffe, 3", 3}});
}

TEST_CASE("bits are counted, reversed, extracted and inserted") {
  check({{"popc.b32 %r1, 0xf0f0ff01", 17},
         {"popc.b64 %r1, 0xffffffffffffffff", 64},
         {"clz.b32 %r1, 0", 32},
         {"clz.b32 %r1, 0x00800000", 8},
         {"clz.b64 %r1, 1", 63},
         {"clz.b64 %r1, 0", 64},
         {"brev.b32 %r1, 0x80000006", 0x60000001},
         {"brev.b64 %d1, 1", 0x8000000000000000},
         {"bfe.u32 %r1, 0x12345678, 8, 12", 0x456},
         {"bfe.s32 %r1, 0x00000f00, 8, 4", 0xffffffff},
         {"bfe.s32 %r1, 0x80000000, 28, 8", 0xfffffff8},  // sign-extended beyond the last bit
         {"bfe.u32 %r1, 0x80000000, 28, 8", 8},
         {"bfe.s32 %r1, 0x80000000, 40, 3", 0xffffffff},
         {"bfe.s32 %r1, 0xffffffff, 0, 0", 0},
         {"bfe.u64 %d1, 0x123456789abcdef0, 60, 4", 1},
         {"bfe.s64 %d1, -1, 0, 64", 0xffffffffffffffff},
         {"bfi.b32 %r1, 0xff, 0x12345678, 8, 4", 0x12345f78},
         {"bfi.b32 %r1, 0xff, 0x12345678, 28, 8", 0xf2345678},  // bits beyond the width are dropped
         {"bfi.b32 %r1, 0xff, 0x12345678, 32, 8", 0x12345678},
         {"bfi.b64 %d1, 0x89abcdef, 0x1234567, 32, 32", 0x89abcdef01234567},
         {"bfi.b64 %d1, -1, 7, 0, 64", 0xffffffffffffffff},
         {"bfi.b64 %d1, -1, 7, 0, 0", 7},
         {"bmsk.clamp.b32 %r1, 4, 8", 0xff0},
         {"bmsk.clamp.b32 %r1, 28, 8", 0xf0000000},
         {"bmsk.clamp.b32 %r1, 4, 99", 0xfffffff0},
         {"bmsk.clamp.b32 %r1, 32, 1", 0},
         {"bmsk.wrap.b32 %r1, 33, 34", 6},
         {"bmsk.wrap.b32 %r1, 0, 32", 0}});
}

TEST_CASE("every type at the ends of its range, compared with 128-bit integers") {
  __extension__ typedef __int128 wide;
  struct operation {
    std::string name;
    wide (*apply)(wide, wide);
  };
  operation const operations[] = {{"add", [](wide a, wide b) { return a + b; }},
                                  {"sub", [](wide a, wide b) { return a - b; }},
                                  {"mul.lo", [](wide a, wide b) { return a * b; }},
                                  {"div", [](wide a, wide b) { return a / b; }},
                                  {"rem", [](wide a, wide b) { return a % b; }},
                                  {"min", [](wide a, wide b) { return a < b ? a : b; }},
                                  {"max", [](wide a, wide b) { return a < b ? b : a; }}};
  for (int const bits : {16, 32, 64})
    for (bool const is_signed : {true, false}) {
      wide const size = wide{1} << bits, minimum = is_signed ? -size / 2 : 0;
      wide const values[] = {minimum, minimum + 1, is_signed ? -1 : 3, 1, 2, minimum + size - 1};
      std::string const type = (is_signed ? ".s" : ".u") + std::to_string(bits);
      std::string const destination = bits == 16 ? " %h1, " : bits == 32 ? " %r1, " : " %d1, ";
      auto const low_bits = [&](wide n) {
        return static_cast<std::uint64_t>((n % size + size) % size);
      };
      for (operation const& o : operations)
        for (wide const a : values)
          for (wide const b : values) {
            if (b == 0 && (o.name == "div" || o.name == "rem")) continue;
            std::string const statement = o.name + type + destination +
                                          std::to_string(low_bits(a)) + ", " +
                                          std::to_string(low_bits(b));
            CHECK_MESSAGE(evaluate(statement) == low_bits(o.apply(a, b)), statement);
          }
    }
}

TEST_CASE("each lane uses its own values, even if a result replaces its source") {
  auto const squares = lanes_after("mov.u32 %r1, %laneid;\nmul.lo.s32 %r1, %r1, %r1;", "%r1");
  for (std::size_t l = 0; l < squares.size(); ++l) CHECK(squares[l] == l * l);
}
