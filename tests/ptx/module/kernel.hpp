// SPDX-License-Identifier: Apache-2.0
// A decoded kernel. Its branches have reconvergence points, and its registers are rows of a warp's
// register file.
#pragma once

#include "types.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ptx {

class warp;
struct opcode_info;
struct instruction;

// Bit l stands for lane l.
using lane_mask = std::uint32_t;
inline constexpr int warp_lanes = 32;
inline constexpr lane_mask all_lanes = ~lane_mask{0};

// Executes an instruction for the active lanes, at least one.
using action = void (*)(warp&, instruction const&, lane_mask active);

// A row of 32 64-bit words, one per lane, in the warp's registers or the kernel's constants. A
// narrower value is zero-extended; a predicate is 0 or 1.
struct operand {
  bool is_constant = false;
  std::uint8_t bytes = 0;  // size of the register's declared type, or of the constant
  std::int32_t row = -1;
};

// The effect of an instruction on the control flow.
enum class flow : std::uint8_t { next, branch, exit };

struct instruction {
  action act = nullptr;                 // null for a branch and an exit
  opcode_info const* opcode = nullptr;  // its row of the instruction table
  flow control_flow = flow::next;

  // Modifiers of the opcode. The action interprets `mode`.
  type result_type = type::none;
  type source_type = type::none;  // if different
  state_space space = state_space::generic;
  std::uint8_t count = 1;  // elements of a vector, or matrices of an ldmatrix
  std::uint8_t mode = 0;
  bool vote_negated = false;

  std::int32_t guard = -1;  // row of the predicate in @p or @!p
  bool guard_negated = false;
  operand results[4];
  operand sources[12];
  std::uint8_t result_count = 0, source_count = 0;
  std::int64_t offset = 0;  // bytes, added to an address in sources

  std::int32_t target = -1;  // index of the instruction that a branch jumps to
  std::int32_t join = -1;  // immediate post-dominator of a guarded branch, the instruction at which
                           // both paths reconverge; code.size() for the kernel's end
  std::int32_t synchronization = -1;  // index among the kernel's synchronizations, in text order
  std::int32_t line = 0;              // line in the kernel's text, from 1
};

struct parameter {
  std::size_t offset, bytes;
};

// Widths in bytes of a kernel's memory accesses, powers of two up to 16.
struct access_widths {
  // Narrowest access. Accesses are aligned, so each covers whole grains of this size, and one
  // history per grain suffices.
  std::size_t shared = 16, global = 16;
  bool shared_lines = false;  // true if there are 16-byte accesses to shared memory
};

struct kernel {
  std::string name;  // mangled
  std::vector<parameter> parameters;
  std::size_t parameter_bytes = 0;
  unsigned max_threads = 0;       // .maxntid; 0: none is given
  std::size_t static_shared = 0;  // bytes
  std::vector<instruction> code;
  access_widths widths;
  int registers = 0;                                  // rows of a warp's register file
  std::vector<std::uint64_t> constants;               // 32 equal words per constant
  std::vector<std::pair<std::string, int>> specials;  // "%tid.x" and its row
  int synchronizations = 0;                           // instructions with a `synchronization` index
  std::vector<std::string> lines;                     // the text, for messages
};

}  // namespace ptx
