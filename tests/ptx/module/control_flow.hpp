// SPDX-License-Identifier: Apache-2.0
// Basic blocks, and where the sides of a branch meet again.
#pragma once

#include "kernel.hpp"

#include <vector>

namespace ptx {

// Blocks are numbered in the order of the code; the number behind the last is the kernel's end.
struct block_graph {
  std::vector<int> first;              // instruction of each block; code.size() for the end
  std::vector<std::vector<int>> next;  // blocks that may follow; none follows the end

  int blocks() const { return static_cast<int>(first.size()) - 1; }
  int end() const { return blocks(); }
};

block_graph blocks_of(std::vector<instruction> const& code);

// The immediate post-dominator of each block: the first that is on every way from there to the end.
// The end's own is the end; so is that of a block from which no way leads there.
std::vector<int> immediate_post_dominators(block_graph const& graph);

// Sets instruction::join of all branches that some lanes may not take.
void join_branches(std::vector<instruction>& code, block_graph const& graph);

}  // namespace ptx
