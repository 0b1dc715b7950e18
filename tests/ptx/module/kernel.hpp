// SPDX-License-Identifier: Apache-2.0
// A kernel as the machine runs it: its text was decoded, its branches know where their sides meet
// again, and its registers are rows of a warp's register file.
#pragma once

#include "types.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ptx {

class warp;
struct form;
struct instruction;

// Bit l stands for lane l.
using lane_mask = std::uint32_t;
inline constexpr int warp_lanes = 32;
inline constexpr lane_mask all_lanes = ~lane_mask{0};

// What an instruction does for the lanes of `active`, of which there is at least one.
using action = void (*)(warp&, instruction const&, lane_mask active);

// A row of 32 64-bit words, one for each lane, in the warp's registers or among the kernel's
// constants. A narrower value lies in the low bits of its word, and the bits above it are zero; a
// predicate is 0 or 1.
struct operand {
  bool constant = false;
  std::uint8_t bytes = 0;  // of the register as it was declared, or of the constant's type
  std::int32_t row = -1;
};

// How an instruction changes which instruction comes next.
enum class flow : std::uint8_t { next, branch, exit };

struct instruction {
  action act = nullptr;      // none for a branch, and for an exit
  form const* of = nullptr;  // its row of the instruction table
  flow then = flow::next;

  // What the modifiers of the opcode said. `mode` is for the action to interpret.
  type t = type::none;     // of the result
  type from = type::none;  // of the sources, where it is another
  space where = space::generic;
  std::uint8_t count = 1;  // elements of a vector, matrices of an ldmatrix
  std::uint8_t mode = 0;
  bool transposed = false;

  std::int32_t guard = -1;  // row of the predicate in @p or @!p
  bool guard_negated = false;
  operand results[4];
  operand sources[12];
  std::uint8_t result_count = 0, source_count = 0;
  std::int64_t offset = 0;  // bytes, beside an address in sources

  std::int32_t target = -1;  // of a branch: index of an instruction
  std::int32_t join = -1;  // of a branch that some lanes may not take: where both sides meet again
                           // (the immediate post-dominator; code.size() for the kernel's end)
  std::int32_t synchronization = -1;  // its number among those of the kernel, in the text's order
  std::int32_t line = 0;              // in the text of the kernel, from 1
};

struct parameter {
  std::size_t offset, bytes;
};

// The widths of a kernel's accesses to memory in bytes, powers of two up to 16.
struct access_widths {
  // The smallest: as accesses are aligned, bytes that share such a grain share their past.
  std::size_t shared = 16, global = 16;
  bool shared_lines = false;  // whether there are accesses of 16 bytes to shared memory
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
  std::vector<std::uint64_t> constants;               // 32 equal words for each
  std::vector<std::pair<std::string, int>> specials;  // "%tid.x" and the row that holds it
  int synchronizations = 0;        // instructions with a `synchronization` number
  std::vector<std::string> lines;  // the text, for messages
};

}  // namespace ptx
