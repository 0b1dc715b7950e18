// SPDX-License-Identifier: Apache-2.0
// Comparisons, selection, logic and shifts: results computed by hand.
#include "run_text.hpp"

#include <doctest/doctest.h>

using run_text::check;
using run_text::evaluate;
using run_text::lanes_after;

namespace {

// Returns the results of comparing 1, 2, 3 and NaN with 2, as four digits.
std::string compare_floats(std::string const& comparison, std::string const& suffix) {
  std::string results;
  for (std::string const a :
       {"3ff0000000000000", "4000000000000000", "4008000000000000", "fff8000000000000"}) {
    std::string const f32_bits = a == "3ff0000000000000"   ? "3f800000"
                                 : a == "4000000000000000" ? "40000000"
                                 : a == "4008000000000000" ? "40400000"
                                                           : "ffc00000";
    bool const is_f64 = suffix == "f64";
    results += std::to_string(
        evaluate("setp." + comparison + "." + suffix + " %p1, 0" +
                 (is_f64 ? "d" + a + ", 0d4000000000000000" : "f" + f32_bits + ", 0f40000000")));
  }
  return results;
}

}  // namespace

TEST_CASE("setp of integers, with and without a sign") {
  check({{"setp.eq.s32 %p1, 4, 4", 1},
         {"setp.ne.s32 %p1, 4, 4", 0},
         {"setp.eq.b64 %p1, 4, 5", 0},
         {"setp.lt.s32 %p1, -1, 1", 1},
         {"setp.lt.u32 %p1, -1, 1", 0},
         {"setp.le.s64 %p1, 4, 4", 1},
         {"setp.gt.u64 %p1, -1, 1", 1},
         {"setp.ge.s16 %p1, -32768, 32767", 0},
         {"setp.gt.u16 %p1, 0x8000, 0x7fff", 1},
         {"setp.lo.u32 %p1, 1, 2", 1},
         {"setp.ls.u32 %p1, 2, 2", 1},
         {"setp.hi.u32 %p1, 1, 2", 0},
         {"setp.hs.u64 %p1, 2, 2", 1}});
}

TEST_CASE("setp of floats: ordered comparisons of a NaN are false, unordered ones true") {
  struct expectation {
    char const *comparison, *results;
  };
  for (char const* const type : {"f32", "f64"})
    for (expectation const& e : {expectation{"eq", "0100"},
                                 {"ne", "1010"},
                                 {"lt", "1000"},
                                 {"le", "1100"},
                                 {"gt", "0010"},
                                 {"ge", "0110"},
                                 {"equ", "0101"},
                                 {"neu", "1011"},
                                 {"ltu", "1001"},
                                 {"leu", "1101"},
                                 {"gtu", "0011"},
                                 {"geu", "0111"},
                                 {"num", "1110"},
                                 {"nan", "0001"}})
      CHECK_MESSAGE(compare_floats(e.comparison, type) == e.results, e.comparison, ".", type);
  check({{"setp.eq.f32 %p1, 0f00000000, 0f80000000", 1},
         {"setp.eq.f32 %p1, 0f00000001, 0f00000000", 0},
         {"setp.eq.ftz.f32 %p1, 0f00000001, 0f00000000", 1}});
}

TEST_CASE("setp combines with a predicate, and also returns the negation") {
  for (unsigned bits = 0; bits < 8; ++bits) {
    bool const equal = (bits & 1) != 0, c = (bits & 2) != 0, negate = (bits & 4) != 0;
    std::string const set_p3 = "setp.eq.s32 %p3, " + std::to_string(c) + ", 1;\n";
    std::string const operands =
        " %p1|%p2, " + std::to_string(equal) + ", 1, " + (negate ? "!%p3;" : "%p3;");
    bool const c_value = c != negate;
    for (char const* const predicate : {"%p1", "%p2"}) {
      bool const result = (std::string(predicate) == "%p1") == equal;
      CHECK(lanes_after(set_p3 + "setp.eq.and.s32" + operands, predicate)[0] ==
            (result && c_value));
      CHECK(lanes_after(set_p3 + "setp.eq.or.s32" + operands, predicate)[0] == (result || c_value));
      CHECK(lanes_after(set_p3 + "setp.eq.xor.s32" + operands, predicate)[0] ==
            (result != c_value));
    }
  }
  CHECK(lanes_after("setp.lt.s32 %p1|%p2, 1, 2;", "%p1")[0] == 1);
  CHECK(lanes_after("setp.lt.s32 %p1|%p2, 1, 2;", "%p2")[0] == 0);
}

TEST_CASE("selp selects the first operand if the predicate is true") {
  auto const selected = lanes_after(
      "mov.u32 %r1, %laneid;\nsetp.lt.s32 %p1, %r1, 7;\n"
      "selp.b32 %r2, %r1, 100, %p1;",
      "%r2");
  for (std::size_t l = 0; l < selected.size(); ++l) CHECK(selected[l] == (l < 7 ? l : 100));
  check({{"selp.b16 %h1, 0xffff, 2, 1", 0xffff},
         {"selp.f64 %e1, 0d3ff0000000000000, 0d4000000000000000, 0", 0x4000000000000000}});
}

TEST_CASE("logic") {
  check({{"and.b32 %r1, 0xff00ff00, 0x0ff00ff0", 0x0f000f00},
         {"or.b16 %h1, 0xff00, 0x0ff0", 0xfff0},
         {"xor.b64 %d1, -1, 0xff", 0xffffffffffffff00},
         {"and.pred %p1, 1, 0", 0},
         {"or.pred %p1, 1, 0", 1},
         {"xor.pred %p1, 1, 1", 0},
         {"not.b16 %h1, 1", 0xfffe},
         {"not.b32 %r1, 0", 0xffffffff},
         {"not.b64 %d1, 0xff", 0xffffffffffffff00},
         {"not.pred %p1, 0", 1},
         {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x80", 0x80},                            // a & b & c
         {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0xfe", 0xfe},                            // a | b | c
         {"lop3.b32 %r1, 0xf0, 0xcc, 0xaa, 0x01", 0xffffff01},                      // ~(a | b | c)
         {"lop3.b32 %r1, 0x12345678, 0xffff0000, 0x9abcdef0, 0xca", 0x9abc8880}});  // a ? b : c
}

TEST_CASE("shifts by at least the width shift out all bits") {
  check({{"shl.b32 %r1, 0x80000001, 1", 2},
         {"shl.b32 %r1, 1, 31", 0x80000000},
         {"shl.b32 %r1, 1, 32", 0},
         {"shl.b32 %r1, 1, 0xffffffff", 0},
         {"shl.b64 %d1, 1, 63", 0x8000000000000000},
         {"shl.b64 %d1, 1, 64", 0},
         {"shl.b16 %h1, 0xffff, 15", 0x8000},
         {"shl.b16 %h1, 0xffff, 16", 0},
         {"shr.u32 %r1, 0x80000000, 31", 1},
         {"shr.u32 %r1, 0x80000000, 32", 0},
         {"shr.s32 %r1, 0x80000000, 4", 0xf8000000},
         {"shr.s32 %r1, 0x80000000, 40", 0xffffffff},
         {"shr.s32 %r1, 0x40000000, 32", 0},
         {"shr.s16 %h1, 0x8000, 15", 0xffff},
         {"shr.s16 %h1, 0x8000, 16", 0xffff},
         {"shr.u16 %h1, 0x8000, 15", 1},
         {"shr.b16 %h1, 0x8000, 16", 0},
         {"shr.s64 %d1, 0x8000000000000000, 63", 0xffffffffffffffff},
         {"shr.s64 %d1, 0x8000000000000000, 64", 0xffffffffffffffff},
         {"shr.u64 %d1, -1, 60", 15},
         {"shf.l.wrap.b32 %r1, 0x80000000, 1, 33", 3},
         {"shf.l.clamp.b32 %r1, 0x80000000, 1, 33", 0x80000000},
         {"shf.r.wrap.b32 %r1, 0x10, 0x3, 4", 0x30000001},
         {"shf.r.clamp.b32 %r1, 0x10, 0x3, 99", 3}});
}
