// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.12 "Control Flow Instructions", and trap.
#include "../machine/warp.hpp"
#include "form.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

void decode_bra(statement& s, instruction& instr) {
  s.take("uni");  // uniformity is only a hint
  s.take_branch_target(instr);
}

// A kernel has no caller, so ret and exit are the same.
void decode_exit(statement&, instruction& instr) { instr.control_flow = flow::exit; }

void decode_trap(statement&, instruction& instr) {
  instr.act = [](warp& w, instruction const&, lane_mask) { w.fail("trap"); };
}

}  // namespace

std::vector<opcode_info> control_flow() {
  return {{"bra", "9.7.12.3", decode_bra},
          {"ret", "9.7.12.6", decode_exit},
          {"exit", "9.7.12.7", decode_exit},
          {"trap", "9.7.19.4", decode_trap}};
}

}  // namespace ptx
