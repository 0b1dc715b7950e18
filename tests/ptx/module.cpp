// SPDX-License-Identifier: Apache-2.0
// The directives and declarations of a module.
#include "ptx/instructions/form.hpp"
#include "run_text.hpp"

#include <doctest/doctest.h>

using run_text::lanes_after;
using run_text::module_text;

namespace {

std::string const module_header = ".version 9.0\n.target sm_90a, debug\n.address_size 64\n";

ptx::kernel const& kernel_of(ptx::module& m) { return m.get("k"); }

}  // namespace

TEST_CASE("a module lists its target and its kernels, in text order") {
  ptx::module m(module_header +
                "// .visible .entry in_a_comment()\n"
                "/* .visible .entry in_another() { */\n"
                ".global .align 1 .b8 table[4] = {1, 2, 3, 4};\n"
                ".extern .func (.param .b32 r) trap_handler (.param .b64 p);\n"
                ".visible .entry second(\n.param .u32 a\n)\n.maxntid 64, 2, 1\n{ ret; }\n"
                ".weak .entry first() { ret; }\n"
                ".extern .entry elsewhere();\n");
  CHECK(m.target() == 90);
  CHECK(m.kernels() == std::vector<std::string>{"second", "first"});
  CHECK(m.contains("first"));
  CHECK_FALSE(m.contains("elsewhere"));
  CHECK(m.get("second").name == "second");
  CHECK(m.get("second").max_threads == 128);
  CHECK(m.get("first").max_threads == 0);
  CHECK(&m.get("first") == &m.get("first"));
  CHECK_THROWS_WITH_AS(m.get("third"), "no kernel third", ptx::fault);
}

TEST_CASE("parameters lie where their alignment allows") {
  ptx::module m(module_text("ret;",
                            ".param .u8 a, .param .u64 b, .param .align 16 .b8 c[20],\n"
                            ".param .f32 d, .param .u64 .ptr .global .align 4 e"));
  ptx::kernel const& k = kernel_of(m);
  std::size_t const offsets[] = {0, 8, 16, 36, 40}, bytes[] = {1, 8, 20, 4, 8};
  REQUIRE(k.parameters.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(k.parameters[i].offset == offsets[i]);
    CHECK(k.parameters[i].bytes == bytes[i]);
  }
  CHECK(k.parameter_bytes == 48);
}

TEST_CASE("shared memory of the module begins after the kernel's, aligned") {
  ptx::module m(
      module_text(".shared .align 4 .b8 own[6];\n{ .shared .f64 more; }\n"
                  "mov.u32 %r1, all;\nmov.u32 %r2, own;\nmov.u32 %r3, more;\nret;",
                  "", ".extern .shared .align 16 .b8 all[];"));
  ptx::kernel const& k = kernel_of(m);
  CHECK(k.static_shared == 16);
  auto const constant = [&](std::size_t i) {
    ptx::operand const& o = k.code[i].sources[0];
    CHECK(o.is_constant);
    return k.constants[static_cast<std::size_t>(o.row) * ptx::warp_lanes];
  };
  CHECK(constant(0) == 16);
  CHECK(constant(1) == 0);
  CHECK(constant(2) == 8);
}

TEST_CASE("an instruction has its line in the text of its kernel") {
  ptx::module m(module_header +
                "\n\n.visible .entry k()\n{\n\n  /* two\n lines */ trap;\n\tret; }\n");
  ptx::kernel const& k = kernel_of(m);
  REQUIRE(k.code.size() == 2);
  CHECK(k.lines.at(static_cast<std::size_t>(k.code[0].line) - 1) == " lines */ trap;");
  CHECK(k.lines.at(static_cast<std::size_t>(k.code[1].line) - 1) == "\tret; }");
  CHECK(std::string(k.code[0].opcode->section) == "9.7.19.4");
}

TEST_CASE("registers and labels of a scope hide those of enclosing scopes") {
  auto const sums = lanes_after(
      "mov.u32 %r1, 1;\n"
      "{\n.reg .b32 %r<3>;\n.reg .b32 x;\nmov.u32 %r1, 10;\nmov.u32 x, 20;\nbra L;\ntrap;\n"
      "L: add.s32 %r1, %r1, x;\nadd.s32 %r3, %r1, 0;\n}\n"  // %r3 is the outer one
      "{\n.reg .b32 x;\nmov.u32 x, 100;\nbra L;\ntrap;\n"
      "L: add.s32 %r3, %r3, x;\n}\n"
      "add.s32 %r1, %r1, %r3;",
      "%r1");
  CHECK(sums[0] == 131);
}

TEST_CASE("synchronizations are numbered in text order") {
  ptx::module m(
      module_text("bar.sync 0;\nadd.s32 %r1, 1, 2;\nbar.warp.sync -1;\n"
                  "cp.async.wait_all;\nbar.red.or.pred %p1, 0, 1;\n"
                  "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;"));
  ptx::kernel const& k = kernel_of(m);
  std::vector<int> synchronizations;
  for (ptx::instruction const& instr : k.code) synchronizations.push_back(instr.synchronization);
  // A cluster wait has no index of its own, since it belongs to the arrival.
  CHECK(synchronizations == std::vector<int>{0, -1, 1, 2, 3, 4, -1, -1});
  CHECK(k.synchronizations == 5);
}

TEST_CASE("equal constants share one row") {
  ptx::module m(module_text("add.s32 %r1, 5, 5;\nadd.s64 %d1, 5, -1;\nret;"));
  ptx::kernel const& k = kernel_of(m);
  CHECK(k.constants.size() == 2 * ptx::warp_lanes);
  CHECK(k.code[0].sources[0].row == k.code[1].sources[0].row);
}

TEST_CASE("text that is not PTX, or unsupported PTX, is rejected") {
  auto const error_of = [](std::string const& text) -> std::string {
    try {
      ptx::module m(text);
    } catch (ptx::fault const& f) {
      return f.what();
    }
    return "";
  };
  CHECK(error_of("") == "this is no PTX");
  CHECK(error_of("\x7f"
                 "ELF") == "this is no PTX");
  CHECK(error_of(".version 6.5\n.target sm_80\n") == "PTX: unsupported: `.version 6.5`");
  CHECK(error_of(".version 10.0\n") == "PTX: unsupported: `.version 10.0`");
  CHECK(error_of(".version 9.0\n.target compute_x\n") == "PTX: unsupported: `.target compute_x`");
  CHECK(error_of(".version 9.0\n.address_size 32\n") == "PTX: unsupported: `.address_size 32`");
  CHECK(error_of(module_header + ".tex .u32 t;\n") == "unknown directive `.tex`");
  CHECK(error_of(module_header + ".visible .entry k() { ret;\n") == "PTX: a brace is not closed");
  CHECK(error_of(module_header + ".visible .entry k()\n") == "PTX: a declaration does not end");
  CHECK(error_of(module_header) == "");
}
