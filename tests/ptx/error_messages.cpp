// SPDX-License-Identifier: Apache-2.0
// Unsupported PTX is rejected when the kernel is decoded, with a message.
#include "ptx/instructions/form.hpp"
#include "run_text.hpp"

#include <doctest/doctest.h>

#include <set>
#include <utility>

using run_text::error_message;

namespace {

struct invalid_statement {
  std::string statement, message;
};

void check_rejected(std::initializer_list<invalid_statement> statements) {
  for (invalid_statement const& r : statements) {
    std::string const actual = error_message(r.statement);
    CHECK_MESSAGE(actual.find(r.message) != std::string::npos, r.statement, ": ", actual);
  }
}

}  // namespace

TEST_CASE("a message names the kernel, the problem, the statement and the line") {
  CHECK(error_message("mov.u32 %r1, 1;\nadd.sat.s32 %r1, %r2, %r3;") ==
        "kernel k: unknown modifier .sat in `add.sat.s32 %r1, %r2, %r3`, line 10");
}

TEST_CASE("instructions") {
  check_rejected(
      {{"frobnicate.b32 %r1, %r2;", "unknown instruction in `frobnicate.b32 %r1, %r2`"},
       {"add;", "the type is missing"},
       {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];", "unknown instruction"},
       {"@%p1 call f;", "unknown instruction"},
       {"rem.f32 %f1, %f2, %f3;", "unknown modifier .f32"}});
}

TEST_CASE("modifiers: of another instruction, in another order, too many, too few") {
  check_rejected({{"add.rz.f32 %f1, %f2, %f3;", "unknown modifier .rz"},
                  {"add.f32.rn %f1, %f2, %f3;", "unknown modifier .f32"},
                  {"add.ftz.f64 %e1, %e2, %e3;", "unknown modifier .f64"},
                  {"add.rn.ftz.sat.f32 %f1, %f2, %f3;", "unknown modifier .sat"},
                  {"add.u8 %h1, %h2, %h3;", "unknown modifier .u8"},
                  {"add.s32.s32 %r1, %r2, %r3;", "unknown modifier .s32"},
                  {"fma.f32 %f1, %f2, %f3, %f4;", "unknown modifier .f32"},
                  {"mul.s32 %r1, %r2, %r3;", "unknown modifier .s32"},
                  {"mul.wide.u64 %d1, %d2, %d3;", "unknown modifier .u64"},
                  {"div.approx.f32 %f1, %f2, %f3;", "unknown modifier .approx"},
                  {"ex2.approx.f16 %h1, %h2;", "unknown modifier .f16"},
                  {"min.xorsign.abs.f32 %f1, %f2, %f3;", "unknown modifier .xorsign"},
                  {"abs.u32 %r1, %r2;", "unknown modifier .u32"},
                  {"setp.s32 %p1, %r1, %r2;", "unknown comparison"},
                  {"setp.ltu.s32 %p1, %r1, %r2;", "unknown modifier .s32"},
                  {"setp.lo.s32 %p1, %r1, %r2;", "unknown modifier .s32"},
                  {"setp.lt.b32 %p1, %r1, %r2;", "unknown modifier .b32"},
                  {"setp.eq.ftz.f64 %p1, %e1, %e2;", "unknown modifier .f64"},
                  {"shl.s32 %r1, %r2, 1;", "unknown modifier .s32"},
                  {"shf.l.b32 %r1, %r2, %r3, 1;", "unknown modifier .b32"},
                  {"mov.v2.u32 %r1, %r2;", "unknown modifier .v2"},
                  {"prmt.b32.f4e %r1, %r2, %r3, %r4;", "unknown modifier .f4e"},
                  {"cvt.f32.s32 %f1, %r1;", "unknown modifier .s32"},
                  {"cvt.rz.f32.f64 %f1, %e1;", "unknown modifier .rz"},
                  {"cvt.s32.f32 %r1, %f1;", "unknown modifier .f32"},
                  {"cvt.rn.s32.f32 %r1, %f1;", "unknown modifier .s32"},
                  {"cvt.rn.f64.f32 %e1, %f1;", "unknown modifier .f32"},
                  {"cvt.rzi.sat.s32.f32 %r1, %f1;", "unknown modifier .sat"},
                  {"cvt.rzi.ftz.s32.f64 %r1, %e1;", "unknown modifier .ftz"},
                  {"cvt.rn.ftz.f32.s32 %f1, %r1;", "unknown modifier .ftz"},
                  {"cvt.rn.relu.f16x2.f32 %r1, %f1, %f2;", "unknown modifier .relu"},
                  {"mul %r1, %r2, %r3;", "a modifier is missing"},
                  {"fma %f1, %f2, %f3, %f4;", "no modifier .rn"},
                  {"bra.conv L;\nL:", "unknown modifier .conv"},
                  {"ret.uni;", "unknown modifier .uni"}});
}

TEST_CASE("operands: of another type, unknown, too many, too few") {
  check_rejected({{"add.s32 %r1, %r2;", "an operand is missing"},
                  {"add.s32 %r1, %r2, %r3, %r4;", "one operand too many, `, %r4`, in"},
                  {"add.s32 %r1, %r2 %r3;", "no `,` before `%r3`"},
                  {"add.s32 %r1, %r2, %r9;", "unknown operand `%r9`"},
                  {"add.s32 %x, %r2, %r3;", "unknown register %x"},
                  {"add.s32 5, %r2, %r3;", "unknown register 5"},
                  {"add.s32 %r1, %d2, %r3;", "%d2 does not have the type .s32"},
                  {"add.s64 %d1, %d2, %r3;", "%r3 does not have the type .s64"},
                  {"add.s32 %p1, %r2, %r3;", "%p1 does not have the type .s32"},
                  {"and.pred %p1, %p2, %r3;", "%r3 does not have the type .pred"},
                  {"shl.b64 %d1, %d2, %d3;", "%d3 does not have the type .u32"},
                  {"add.s32 %r1, !%r2, %r3;", "unknown operand `!%r2, %r3`"},
                  {"selp.b32 %r1, %r2, %r3, !%p1;", "unknown operand `!%p1`"},
                  {"add.s32 %r1|%r2, %r3, %r4;", "no `,` before `|%r2"},
                  {"add.s32 {%r1}, %r2, %r3;", "unknown operand `{%r1}"},
                  {"mov.b64 {%r1, %d1}, %d2;", "%d1 does not have the type .b32"},
                  {"mov.b64 %d1, {%r1, %r2, %r3};", "unsupported number of elements"},
                  {"mov.b32 {%h1, %h2, %h3, %h4}, %r1;", "unsupported number of elements"},
                  {"mov.u32 %r1, %clock;", "unknown operand `%clock`"},
                  {"mov.u32 %r1, nothing;", "unknown operand `nothing`"},
                  {"@%r1 ret;", "unknown guard `%r1`"},
                  {"@%q ret;", "unknown guard `%q`"},
                  {"bra nowhere;", "no label nowhere"},
                  {"L:\nL:\nbra L;", "a second label L"}});
}

TEST_CASE("addresses") {
  check_rejected({{"ld.global.u32 %r1, %d1;", "no `[` before `%d1`"},
                  {"ld.global.u32 %r1, [%d1;", "no `]` before"},
                  {"ld.global.u32 %r1, [%r1];", "%r1 does not have the type .b64"},
                  {"ld.shared.u32 %r1, [%h1];", "%h1 does not have the type .b32"},
                  {"ld.global.u32 %r1, [nothing];", "unknown operand `nothing`"},
                  {"ld.global.u32 %r1, [%d1+x];", "unknown operand `x`"},
                  {".shared .b32 s;\nld.global.u32 %r1, [s];", "s lies in another state space"},
                  {".shared .b32 s;\nmov.u16 %h1, s;", "an address does not fit"},
                  {".shared .b32 s;\nadd.f32 %f1, %f2, s;", "an address does not fit"}});
}

TEST_CASE("immediates that do not fit") {
  check_rejected({{"mov.u16 %h1, 65536;", "`65536` does not fit"},
                  {"mov.s16 %h1, -32769;", "`-32769` does not fit"},
                  {"mov.b32 %r1, 0x100000000;", "`0x100000000` does not fit"},
                  {"mov.b64 %d1, 0x10000000000000000;", "unknown operand `0x10000000000000000`"},
                  {"mov.f64 %e1, 0f3f800000;", "`0f3f800000` does not fit"},
                  {"mov.f32 %f1, 0d3ff0000000000000;", "`0d3ff0000000000000` does not fit"},
                  {"mov.f32 %f1, 0f3f8;", "unknown operand `0f3f8`"},
                  {"mov.f32 %f1, 1;", "unknown operand `1`"},
                  {"add.f32 %f1, %f2, 1.0;", "unknown operand `1.0`"},
                  {"mov.u32 %r1, 017;", "unknown operand `017`"},
                  {"lop3.b32 %r1, %r2, %r3, %r4, 256;", "a table of more than 8 bits"}});
}

TEST_CASE("directives, declarations and braces") {
  CHECK(error_message(".loc 1 2 3;\n.pragma \"nounroll\";") == "");
  check_rejected(
      {{".local .align 8 .b8 depot[16];", "unknown directive `.local .align 8 .b8 depot[16]`"},
       {".param .b32 p;", "unknown directive"},
       {".branchtargets A, B;", "unknown directive"},
       {".locality 1;", "unknown directive"},
       {".reg .b128 %q;", "unsupported registers"},
       {".reg .u8 %b;", "unsupported registers"},
       {".reg .b32;", "unsupported registers"},
       {".reg .b32 %x<y>;", "so many registers"},
       {".shared .v4 .f32 s;", "an unsupported declaration"},
       {".shared .b32 s[n];", "an unsupported declaration"},
       {"add.s32 %r1, %r2, %r3", "one operand too many, `ret`"}});
  auto const entry_error = [](std::string const& between) {
    try {
      ptx::module m(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k" + between);
      m.get("k");
    } catch (ptx::fault const& f) {
      return std::string(f.what());
    }
    return std::string();
  };
  CHECK(entry_error("() .maxntid 32\n.minnctapersm 2 .maxnreg 40\n{ ret; }") == "");
  for (char const* const directives : {".reqntid 32", ".maxntid many"})
    CHECK(entry_error(std::string("() ") + directives + " { ret; }") ==
          std::string("kernel k: PTX: unsupported directives: `") + directives + "`");
  CHECK(entry_error("(.reg .b32 a) { ret; }") ==
        "kernel k: PTX: an unsupported parameter: `.reg .b32 a`");
  CHECK(entry_error("(.param .b32 a { ret; }") == "kernel k: PTX: parameters of k do not end");
  CHECK(entry_error("() { ret }") == "kernel k: PTX: a statement does not end: `ret `");
  CHECK(entry_error("() { } ret; }") == "unknown directive `ret;`");
}

TEST_CASE("every row of the table has a unique opcode and a section of the manual") {
  std::set<std::pair<std::string, ptx::type_class>> rows;
  for (ptx::opcode_info const& info : ptx::instruction_table()) {
    CHECK(rows.emplace(info.name, info.kind).second);
    if (info.kind != ptx::type_class::any)
      CHECK(rows.count({info.name, ptx::type_class::any}) == 0);
    CHECK(std::string(info.section).substr(0, 4) == "9.7.");
  }
  CHECK(ptx::find_opcode("add", ptx::type::s32) != ptx::find_opcode("add", ptx::type::f32));
  CHECK(ptx::find_opcode("sin", ptx::type::f32) == nullptr);
}
