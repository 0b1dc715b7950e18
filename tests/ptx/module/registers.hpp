// SPDX-License-Identifier: Apache-2.0
// Register allocation: assigns rows of a warp's register file to a kernel's virtual registers.
#pragma once

#include "control_flow.hpp"
#include "kernel.hpp"

#include <vector>

namespace ptx {

// The instructions, first to last, in which a virtual register is live; -1 if it is unused.
struct lifetime {
  int first = -1, last = -1;
};

std::vector<lifetime> find_lifetimes(std::vector<instruction> const& code, block_graph const& graph,
                                     int virtual_registers);

// Replaces virtual registers by rows throughout the kernel. Registers with overlapping lifetimes do
// not share a row, nor do a result and a source of one instruction. The rows of special registers
// are never reused.
void assign_rows(kernel& k, block_graph const& graph, int virtual_registers);

}  // namespace ptx
