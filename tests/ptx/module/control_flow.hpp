// SPDX-License-Identifier: Apache-2.0
// Basic blocks, and the points where the paths of a branch reconverge.
#pragma once

#include "kernel.hpp"

#include <vector>

namespace ptx {

// Basic blocks in code order. The index after the last block denotes the kernel's end.
struct block_graph {
  std::vector<int> first_instruction;        // of each block; code.size() for the end
  std::vector<std::vector<int>> successors;  // of each block; none for the end

  int blocks() const { return static_cast<int>(first_instruction.size()) - 1; }
  int end() const { return blocks(); }
};

block_graph build_block_graph(std::vector<instruction> const& code);

// Returns the immediate post-dominator of each block: the first block on every path from it to the
// end. For the end itself, and for blocks that cannot reach it, this is the end.
std::vector<int> immediate_post_dominators(block_graph const& graph);

// Sets instruction::join of all guarded branches.
void set_joins(std::vector<instruction>& code, block_graph const& graph);

}  // namespace ptx
