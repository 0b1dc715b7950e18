// SPDX-License-Identifier: Apache-2.0
// Reconvergence points of branches, and reconvergence itself.
#include "ptx/module/control_flow.hpp"

#include "run_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using run_text::lanes_after;
using run_text::module_text;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// True if a path leads from a block to the end without passing `excluded`.
bool reaches_end(ptx::block_graph const& graph, int block, int excluded) {
  std::vector<bool> visited(graph.successors.size());
  std::vector<int> pending{block};
  while (!pending.empty()) {
    int const b = pending.back();
    pending.pop_back();
    if (b == excluded || visited[at(b)]) continue;
    if (b == graph.end()) return true;
    visited[at(b)] = true;
    pending.insert(pending.end(), graph.successors[at(b)].begin(), graph.successors[at(b)].end());
  }
  return false;
}

// A post-dominator of a block is on every path from the block to the end. The immediate
// post-dominator is the first of them on these paths.
int immediate_by_definition(ptx::block_graph const& graph, int b) {
  if (b == graph.end() || !reaches_end(graph, b, -1)) return graph.end();
  std::vector<int> candidates;
  for (int p = 0; p <= graph.end(); ++p)
    if (p != b && !reaches_end(graph, b, p)) candidates.push_back(p);
  for (int const p : candidates)
    if (std::all_of(candidates.begin(), candidates.end(),
                    [&](int q) { return q == p || !reaches_end(graph, p, q); }))
      return p;
  return -1;
}

ptx::block_graph graph_of(std::vector<std::vector<int>> next) {
  ptx::block_graph graph;
  for (std::size_t b = 0; b < next.size(); ++b)
    graph.first_instruction.push_back(static_cast<int>(b));
  graph.successors = std::move(next);
  return graph;
}

// Returns the reconvergence points of all guarded branches, as instruction indices.
std::vector<int> join_indices_of(std::string const& statements) {
  ptx::module m(module_text(statements));
  std::vector<int> join_indices;
  for (ptx::instruction const& instr : m.get("k").code)
    if (instr.control_flow == ptx::flow::branch && instr.guard >= 0)
      join_indices.push_back(instr.join);
  return join_indices;
}

}  // namespace

TEST_CASE("blocks begin at labels and after branches and exits") {
  ptx::module m(
      module_text("mov.u32 %r1, 1;\n"     // 0
                  "@%p1 bra B;\n"         // 1
                  "mov.u32 %r1, 2;\n"     // 2
                  "@%p2 ret;\n"           // 3
                  "B: mov.u32 %r1, 3;\n"  // 4
                  "ret;"));               // 5
  ptx::block_graph const graph = ptx::build_block_graph(m.get("k").code);
  CHECK(graph.first_instruction == std::vector<int>{0, 2, 4, 6});
  CHECK(graph.successors == std::vector<std::vector<int>>{{2, 1}, {3, 2}, {3}, {}});
}

TEST_CASE("an if reconverges after its body, an if-else after both sides") {
  CHECK(join_indices_of("@%p1 bra B;\nmov.u32 %r1, 1;\nB: ret;") == std::vector<int>{2});
  CHECK(join_indices_of("@%p1 bra B;\nmov.u32 %r1, 1;\nbra.uni C;\nB: mov.u32 %r1, 2;\nC: ret;") ==
        std::vector<int>{4});
}

TEST_CASE("nested ifs reconverge from the inside out") {
  CHECK(join_indices_of("@%p1 bra C;\n"         // 0
                        "@%p2 bra B;\n"         // 1
                        "mov.u32 %r1, 1;\n"     // 2
                        "B: mov.u32 %r1, 2;\n"  // 3
                        "C: ret;") == std::vector<int>{4, 3});
}

TEST_CASE("a loop reconverges after its end, even with an exit in the middle") {
  CHECK(join_indices_of("A: mov.u32 %r1, 1;\n@%p1 bra A;\nret;") == std::vector<int>{2});
  CHECK(join_indices_of("A: @%p1 bra C;\n"   // 0: leaves the loop
                        "@%p2 bra B;\n"      // 1: continues it
                        "mov.u32 %r1, 1;\n"  // 2
                        "B: @%p3 bra A;\n"   // 3
                        "mov.u32 %r1, 2;\n"  // 4
                        "C: ret;") == std::vector<int>{5, 3, 5});
}

TEST_CASE("a loop with two entrances") {
  CHECK(join_indices_of("@%p1 bra B;\n"         // 0
                        "A: mov.u32 %r1, 1;\n"  // 1
                        "B: mov.u32 %r1, 2;\n"  // 2
                        "@%p2 bra A;\n"         // 3
                        "ret;") == std::vector<int>{2, 4});
}

TEST_CASE("sides that return separately reconverge at the end of the kernel") {
  CHECK(join_indices_of("@%p1 bra B;\nret;\nB: ret;") == std::vector<int>{3});
  CHECK(join_indices_of("@%p1 bra B;\nmov.u32 %r1, 1;\n@%p2 ret;\nB: ret;") == std::vector<int>{4});
  CHECK(join_indices_of("@%p1 bra B;\nA: bra A;\nB: ret;") ==
        std::vector<int>{2});  // one path never ends
}

TEST_CASE("immediate post-dominators of random graphs match the definition") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    int const blocks = 1 + static_cast<int>(random() % 12);
    std::vector<std::vector<int>> next(at(blocks) + 1);
    for (int b = 0; b < blocks; ++b) {
      auto const random_block = [&] {
        return static_cast<int>(random() % (static_cast<unsigned>(blocks) + 1));
      };
      next[at(b)].push_back(random() % 4 == 0 ? random_block() : b + 1);
      if (int const other = random_block(); random() % 2 == 0 && other != next[at(b)][0])
        next[at(b)].push_back(other);
    }
    ptx::block_graph const graph = graph_of(std::move(next));
    std::vector<int> const dominators = ptx::immediate_post_dominators(graph);
    for (int b = 0; b <= blocks; ++b)
      REQUIRE(dominators[at(b)] == immediate_by_definition(graph, b));
  }
}

TEST_CASE("lanes diverge in nested and irregular loops, and reconverge") {
  // The length of the Collatz sequence from lane + 1 to 1, in one loop with two paths.
  auto const steps = lanes_after(
      "mov.u32 %r1, %laneid;\nadd.s32 %r1, %r1, 1;\nmov.u32 %r2, 0;\n"
      "A: setp.eq.s32 %p1, %r1, 1;\n@%p1 bra D;\n"
      "and.b32 %r3, %r1, 1;\nsetp.eq.s32 %p2, %r3, 0;\n@%p2 bra B;\n"
      "mad.lo.s32 %r1, %r1, 3, 1;\nbra.uni C;\n"
      "B: shr.u32 %r1, %r1, 1;\n"
      "C: add.s32 %r2, %r2, 1;\nbra.uni A;\nD:",
      "%r2");
  for (std::size_t l = 0; l < steps.size(); ++l) {
    std::uint64_t expected = 0;
    for (std::uint64_t n = l + 1; n != 1; ++expected) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    CHECK(steps[l] == expected);
  }
  // After the loop all lanes have reconverged, as a shuffle of the whole warp requires.
  auto const neighbours = lanes_after(
      "mov.u32 %r1, %laneid;\nmov.u32 %r2, %r1;\n"
      "A: sub.s32 %r2, %r2, 3;\nsetp.gt.s32 %p1, %r2, 0;\n@%p1 bra A;\n"
      "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;",
      "%r3");
  for (std::uint32_t l = 0; l < neighbours.size(); ++l) {
    auto rest = static_cast<std::int32_t>(l ^ 1);
    do rest -= 3;
    while (rest > 0);
    CHECK(neighbours[l] == static_cast<std::uint32_t>(rest));
  }
}

TEST_CASE("lanes that have exited stay inactive") {
  auto const values =
      lanes_after("mov.u32 %r1, %laneid;\nsetp.lt.s32 %p1, %r1, 5;\n@%p1 exit;", "%r1");
  for (std::size_t l = 0; l < values.size(); ++l) CHECK(values[l] == (l < 5 ? 0 : l));
  CHECK_THROWS_WITH_AS(lanes_after("trap;", "%r1"), doctest::Contains("trap"), ptx::fault);
}
