// SPDX-License-Identifier: Apache-2.0
// Rows of a warp's register file for virtual registers, of which a kernel has thousands.
#pragma once

#include "control_flow.hpp"
#include "kernel.hpp"

#include <vector>

namespace ptx {

// The part of the code in which a virtual register may hold what is still wanted, as a stretch of
// instructions from its first to its last; none where it does not occur.
struct lifetime {
  int first = -1, last = -1;
};

std::vector<lifetime> lifetimes(std::vector<instruction> const& code, block_graph const& graph,
                                int virtual_registers);

// Changes the numbers of virtual registers to rows, throughout the kernel. Two that live at the
// same time never share a row, nor do a result and a source of one instruction. Special registers
// keep theirs to the end.
void assign_rows(kernel& k, block_graph const& graph, int virtual_registers);

}  // namespace ptx
