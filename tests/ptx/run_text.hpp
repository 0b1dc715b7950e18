// SPDX-License-Identifier: Apache-2.0
// Runs statements of PTX. They may use the registers %p<8> of .pred, %h<8> of .b16, %r<8> of .b32,
// %d<8> of .b64, %f<8> of .f32 and %e<8> of .f64. Those numbered 6 and 7 return results.
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

// A module with one kernel, k.
inline std::string module_text(std::string const& statements, std::string const& parameters = "",
                               std::string const& outside = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + outside + "\n.visible .entry k(" +
         parameters +
         ")\n{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n"
         ".reg .f32 %f<8>;\n.reg .f64 %e<8>;\n" +
         statements + "\n}\n";
}

// The message with which the statements are rejected; empty if they are valid.
inline std::string error_message(std::string const& statements) {
  try {
    ptx::module m(module_text(statements + "\nret;"));
    m.get("k");
  } catch (ptx::fault const& f) {
    return f.what();
  }
  return "";
}

using lanes = std::array<std::uint64_t, ptx::warp_lanes>;

// The bits of a register in each lane after the statements.
inline lanes lanes_after(std::string const& statements, std::string const& reg) {
  std::string const value = reg[1] == 'p' ? "selp.b32 %r6, 1, 0, " + reg + ";\n" : "";
  std::string const stored = reg[1] == 'p'   ? "u32 [%d7], %r6"
                             : reg[1] == 'h' ? "u16 [%d7], " + reg
                             : reg[1] == 'r' ? "u32 [%d7], " + reg
                             : reg[1] == 'f' ? "f32 [%d7], " + reg
                             : reg[1] == 'd' ? "u64 [%d7], " + reg
                                             : "f64 [%d7], " + reg;
  ptx::module m(module_text(statements + "\n" + value +
                                "mov.u32 %r7, %tid.x;\n"
                                "mul.wide.u32 %d6, %r7, 8;\n"
                                "ld.param.u64 %d7, [out];\n"
                                "add.s64 %d7, %d7, %d6;\n"
                                "st.global." +
                                stored + ";\nret;",
                            ".param .u64 out"));
  lanes result{};
  ptx::register_memory(result.data(), sizeof result);
  ptx::launch launch;
  launch.block.x = ptx::warp_lanes;
  auto const address = reinterpret_cast<std::uint64_t>(result.data());
  launch.parameters.resize(sizeof address);
  std::memcpy(launch.parameters.data(), &address, sizeof address);
  ptx::run(m.get("k"), launch);
  ptx::unregister_memory(result.data());
  return result;
}

// The result of a statement, its first operand, which must be the same in all lanes. Runs it with
// all lanes and with half of them active; inactive lanes must keep their value. Returns `mixed` if
// a lane differs.
inline constexpr std::uint64_t mixed = 0x1357'9bdf'2468'ace0;
inline std::uint64_t value(std::string const& statement) {
  std::size_t const first = statement.find('%');
  std::string const reg = statement.substr(first, statement.find_first_of(",|", first) - first);
  lanes const full = lanes_after(statement + ";", reg);
  std::string const initialize = reg[1] == 'p'
                                     ? "setp.ne.s32 " + reg + ", 0, " + std::to_string(1 - full[0])
                                 : reg[1] == 'h' ? "mov.b16 " + reg + ", 0x5a5a"
                                 : reg[1] == 'r' ? "mov.b32 " + reg + ", 0x5a5a5a5a"
                                 : reg[1] == 'f' ? "mov.f32 " + reg + ", 0f5a5a5a5a"
                                 : reg[1] == 'd' ? "mov.b64 " + reg + ", 0x5a5a5a5a5a5a5a5a"
                                                 : "mov.f64 " + reg + ", 0d5a5a5a5a5a5a5a5a";
  lanes const before = lanes_after(initialize + ";", reg);
  lanes const half = lanes_after(initialize +
                                     ";\nmov.u32 %r5, %laneid;\nand.b32 %r5, %r5, 1;\n"
                                     "setp.eq.s32 %p5, %r5, 1;\n@%p5 " +
                                     statement + ";",
                                 reg);
  for (std::size_t l = 0; l < full.size(); ++l)
    if (full[l] != full[0] || half[l] != (l % 2 == 1 ? full[0] : before[0])) return mixed;
  return full[0];
}

struct expectation {
  std::string statement;
  std::uint64_t result;
};
inline void check(std::initializer_list<expectation> expectations) {
  for (expectation const& e : expectations)
    CHECK_MESSAGE(value(e.statement) == e.result, e.statement);
}

}  // namespace run_text
