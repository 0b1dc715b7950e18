// SPDX-License-Identifier: Apache-2.0
#include "control_flow.hpp"

#include <algorithm>
#include <cstddef>

namespace ptx {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

using edges = std::vector<std::vector<int>>;

edges reverse(edges const& successors) {
  edges predecessors(successors.size());
  for (std::size_t b = 0; b < successors.size(); ++b)
    for (int const n : successors[b]) predecessors[at(n)].push_back(static_cast<int>(b));
  return predecessors;
}

// Returns the blocks that can reach the end, in reverse postorder of the reversed graph: every
// block but the end comes after one of its successors.
std::vector<int> order_blocks_from_end(block_graph const& graph) {
  edges const predecessors = reverse(graph.successors);
  struct visit {
    int block;
    std::size_t next;  // index into predecessors[block]
  };
  std::vector<visit> stack{{graph.end(), 0}};
  std::vector<bool> visited(graph.successors.size());
  visited[at(graph.end())] = true;
  std::vector<int> order;
  while (!stack.empty()) {
    visit& v = stack.back();
    if (v.next == predecessors[at(v.block)].size()) {
      order.push_back(v.block);
      stack.pop_back();
      continue;
    }
    int const b = predecessors[at(v.block)][v.next++];
    if (visited[at(b)]) continue;
    visited[at(b)] = true;
    stack.push_back({b, 0});
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

block_graph build_block_graph(std::vector<instruction> const& code) {
  std::vector<bool> starts_block(code.size() + 1);
  starts_block.front() = starts_block.back() = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].control_flow == flow::next) continue;
    starts_block[i + 1] = true;
    if (code[i].control_flow == flow::branch) starts_block[at(code[i].target)] = true;
  }
  block_graph graph;
  std::vector<int> block_of(code.size() + 1);  // block of each instruction
  for (std::size_t i = 0; i <= code.size(); ++i) {
    if (starts_block[i]) graph.first_instruction.push_back(static_cast<int>(i));
    block_of[i] = static_cast<int>(graph.first_instruction.size()) - 1;
  }
  graph.successors.resize(graph.first_instruction.size());
  for (int b = 0; b < graph.blocks(); ++b) {
    instruction const& last = code[at(graph.first_instruction[at(b) + 1]) - 1];
    auto& next = graph.successors[at(b)];
    if (last.control_flow == flow::branch) next.push_back(block_of[at(last.target)]);
    if (last.control_flow == flow::exit) next.push_back(graph.end());
    bool const falls_through = last.control_flow == flow::next || last.guard >= 0;
    if (falls_through && std::find(next.begin(), next.end(), b + 1) == next.end())
      next.push_back(b + 1);
  }
  return graph;
}

// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph.
std::vector<int> immediate_post_dominators(block_graph const& graph) {
  std::vector<int> const order = order_blocks_from_end(graph);
  std::vector<int> rank(graph.successors.size(), -1);  // position in `order`
  for (std::size_t i = 0; i < order.size(); ++i) rank[at(order[i])] = static_cast<int>(i);

  std::vector<int> dominators(graph.successors.size(), -1);
  dominators[at(graph.end())] = graph.end();
  auto const common_dominator = [&](int a, int b) {
    while (a != b) {
      int& later = rank[at(a)] > rank[at(b)] ? a : b;
      later = dominators[at(later)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 1; i < order.size(); ++i) {
      int dominator = -1;
      for (int const n : graph.successors[at(order[i])])
        if (dominators[at(n)] >= 0) dominator = dominator < 0 ? n : common_dominator(dominator, n);
      int& previous = dominators[at(order[i])];
      changed = changed || previous != dominator;
      previous = dominator;
    }
  }
  std::replace(dominators.begin(), dominators.end(), -1, graph.end());
  return dominators;
}

void set_joins(std::vector<instruction>& code, block_graph const& graph) {
  std::vector<int> const joins = immediate_post_dominators(graph);
  for (int b = 0; b < graph.blocks(); ++b) {
    instruction& last = code[at(graph.first_instruction[at(b) + 1]) - 1];
    if (last.control_flow == flow::branch && last.guard >= 0)
      last.join = graph.first_instruction[at(joins[at(b)])];
  }
}

}  // namespace ptx
