// SPDX-License-Identifier: Apache-2.0
// Runs PTX statements in one warp. Registers: %p<8> of .pred, %h<8> of .b16, %r<8> of .b32, %d<8>
// of .b64, %f<8> of .f32, %e<8> of .f64. Those with index 6 and 7 are reserved for reading results.
#pragma once

#include "ptx/machine/device_memory.hpp"
#include "ptx/machine/launch.hpp"
#include "ptx/module/module.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

namespace run_text {

// Returns the text of a module with one kernel, k.
inline std::string module_text(std::string const& statements, std::string const& parameters = "",
                               std::string const& outside = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + outside + "\n.visible .entry k(" +
         parameters +
         ")\n{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n"
         ".reg .f32 %f<8>;\n.reg .f64 %e<8>;\n" +
         statements + "\n}\n";
}

// Returns the message that rejects the statements; empty if they are valid.
inline std::string error_message(std::string const& statements) {
  try {
    ptx::module module(module_text(statements + "\nret;"));
    module.get("k");
  } catch (ptx::fault const& f) {
    return f.what();
  }
  return "";
}

using lane_values = std::array<std::uint64_t, ptx::warp_lanes>;

// Runs the statements and returns the bits of a register in each lane.
inline lane_values lanes_after(std::string const& statements, std::string const& reg) {
  std::string const conversion = reg[1] == 'p' ? "selp.b32 %r6, 1, 0, " + reg + ";\n" : "";
  std::string const store_operands = reg[1] == 'p'   ? "u32 [%d7], %r6"
                                     : reg[1] == 'h' ? "u16 [%d7], " + reg
                                     : reg[1] == 'r' ? "u32 [%d7], " + reg
                                     : reg[1] == 'f' ? "f32 [%d7], " + reg
                                     : reg[1] == 'd' ? "u64 [%d7], " + reg
                                                     : "f64 [%d7], " + reg;
  ptx::module module(module_text(statements + "\n" + conversion +
                                     "mov.u32 %r7, %tid.x;\n"
                                     "mul.wide.u32 %d6, %r7, 8;\n"
                                     "ld.param.u64 %d7, [out];\n"
                                     "add.s64 %d7, %d7, %d6;\n"
                                     "st.global." +
                                     store_operands + ";\nret;",
                                 ".param .u64 out"));
  lane_values result{};
  ptx::register_memory(result.data(), sizeof result);
  ptx::launch launch;
  launch.block.x = ptx::warp_lanes;
  auto const address = reinterpret_cast<std::uint64_t>(result.data());
  launch.parameters.resize(sizeof address);
  std::memcpy(launch.parameters.data(), &address, sizeof address);
  ptx::run(module.get("k"), launch);
  ptx::unregister_memory(result.data());
  return result;
}

// Returns the result of a statement, its first operand. Runs it with all lanes and with half of
// them active. Returns `mixed_result` if two active lanes differ or an inactive lane has changed.
inline constexpr std::uint64_t mixed_result = 0x1357'9bdf'2468'ace0;
inline std::uint64_t evaluate(std::string const& statement) {
  std::size_t const first = statement.find('%');
  std::string const reg = statement.substr(first, statement.find_first_of(",|", first) - first);
  lane_values const all_active = lanes_after(statement + ";", reg);
  std::string const initialize =
      reg[1] == 'p'   ? "setp.ne.s32 " + reg + ", 0, " + std::to_string(1 - all_active[0])
      : reg[1] == 'h' ? "mov.b16 " + reg + ", 0x5a5a"
      : reg[1] == 'r' ? "mov.b32 " + reg + ", 0x5a5a5a5a"
      : reg[1] == 'f' ? "mov.f32 " + reg + ", 0f5a5a5a5a"
      : reg[1] == 'd' ? "mov.b64 " + reg + ", 0x5a5a5a5a5a5a5a5a"
                      : "mov.f64 " + reg + ", 0d5a5a5a5a5a5a5a5a";
  lane_values const initial = lanes_after(initialize + ";", reg);
  lane_values const half_active = lanes_after(initialize +
                                                  ";\nmov.u32 %r5, %laneid;\nand.b32 %r5, %r5, 1;\n"
                                                  "setp.eq.s32 %p5, %r5, 1;\n@%p5 " +
                                                  statement + ";",
                                              reg);
  for (std::size_t lane = 0; lane < all_active.size(); ++lane)
    if (all_active[lane] != all_active[0] ||
        half_active[lane] != (lane % 2 == 1 ? all_active[0] : initial[0]))
      return mixed_result;
  return all_active[0];
}

struct expectation {
  std::string statement;
  std::uint64_t result;
};
inline void check(std::initializer_list<expectation> expectations) {
  for (expectation const& e : expectations)
    CHECK_MESSAGE(evaluate(e.statement) == e.result, e.statement);
}

}  // namespace run_text
