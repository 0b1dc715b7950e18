// SPDX-License-Identifier: Apache-2.0
// Registers with overlapping lifetimes never share a row of the register file.
#include "ptx/module/registers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

ptx::operand reg(int index) { return {false, 4, index}; }

// Random instructions with random branches.
std::vector<ptx::instruction> random_code(std::mt19937& random, int size, int registers) {
  auto const random_register = [&] {
    return static_cast<int>(random() % static_cast<unsigned>(registers));
  };
  std::vector<ptx::instruction> code(at(size));
  for (ptx::instruction& instr : code) {
    if (random() % 4 == 0) instr.guard = random_register();
    for (auto i = random() % 3; i > 0; --i)
      instr.sources[instr.source_count++] = reg(random_register());
    auto const kind = random() % 8;
    if (kind == 0) {
      instr.control_flow = ptx::flow::branch;
      instr.target = static_cast<int>(random() % static_cast<unsigned>(size));
    } else if (kind == 1) {
      instr.control_flow = ptx::flow::exit;
    } else {
      for (auto i = random() % 3; i > 0; --i)
        instr.results[instr.result_count++] = reg(random_register());
    }
  }
  code.back().control_flow = ptx::flow::exit;
  code.back().guard = -1;
  code.back().result_count = 0;
  return code;
}

// The registers that are live after each instruction.
std::vector<std::set<int>> live_after(std::vector<ptx::instruction> const& code) {
  std::vector<std::set<int>> before(code.size() + 1), after(code.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = code.size(); i-- > 0;) {
      ptx::instruction const& instr = code[i];
      std::set<int> live;
      auto const add_live = [&](std::size_t next) {
        live.insert(before[next].begin(), before[next].end());
      };
      if (instr.control_flow == ptx::flow::branch) add_live(at(instr.target));
      if (instr.control_flow == ptx::flow::next || instr.guard >= 0) add_live(i + 1);
      after[i] = live;
      if (instr.guard < 0)
        for (int r = 0; r < instr.result_count; ++r) live.erase(instr.results[r].row);
      else
        live.insert(instr.guard);
      for (int s = 0; s < instr.source_count; ++s) live.insert(instr.sources[s].row);
      changed = changed || live != before[i];
      before[i] = std::move(live);
    }
  }
  return after;
}

}  // namespace

TEST_CASE("rows of random code") {
  constexpr int registers = 12;
  std::mt19937 random(1);
  std::size_t shared_rows = 0;
  for (int round = 0; round < 1000; ++round) {
    ptx::kernel k;
    k.code = random_code(random, 2 + static_cast<int>(random() % 40), registers);
    std::vector<ptx::instruction> const before = k.code;
    ptx::assign_rows(k, ptx::build_block_graph(k.code), registers);

    // A register has the same row everywhere.
    std::vector<int> row(registers, -1);
    auto const check_row = [&](int index, int assigned) {
      REQUIRE(assigned >= 0);
      REQUIRE(assigned < k.registers);
      REQUIRE((row[at(index)] < 0 || row[at(index)] == assigned));
      row[at(index)] = assigned;
    };
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].guard >= 0) check_row(before[i].guard, k.code[i].guard);
      for (int s = 0; s < before[i].source_count; ++s)
        check_row(before[i].sources[s].row, k.code[i].sources[s].row);
      for (int r = 0; r < before[i].result_count; ++r)
        check_row(before[i].results[r].row, k.code[i].results[r].row);
    }
    // A result shares no row with a live register or with a source.
    std::vector<std::set<int>> const live = live_after(before);
    for (std::size_t i = 0; i < before.size(); ++i) {
      std::set<int> occupied = live[i];
      for (int s = 0; s < before[i].source_count; ++s) occupied.insert(before[i].sources[s].row);
      if (before[i].guard >= 0) occupied.insert(before[i].guard);
      for (int r = 0; r < before[i].result_count; ++r) occupied.insert(before[i].results[r].row);
      for (int r = 0; r < before[i].result_count; ++r)
        for (int const other : occupied)
          if (other != before[i].results[r].row)
            REQUIRE(row[at(other)] != row[at(before[i].results[r].row)]);
    }
    std::set<int> const rows(row.begin(), row.end());
    shared_rows += static_cast<std::size_t>(registers) - rows.size();
  }
  CHECK(shared_rows > 1000);  // most registers do share rows
}

TEST_CASE("a chain of registers needs two rows") {
  ptx::kernel k;
  for (int i = 0; i < 100; ++i) {
    ptx::instruction instr;
    instr.sources[instr.source_count++] = reg(i);
    instr.results[instr.result_count++] = reg(i + 1);
    k.code.push_back(instr);
  }
  ptx::assign_rows(k, ptx::build_block_graph(k.code), 101);
  CHECK(k.registers == 2);
}

TEST_CASE("special registers and constants keep their rows") {
  ptx::kernel k;
  k.specials = {{"%tid.x", 7}};
  for (int i = 0; i < 20; ++i) {
    ptx::instruction instr;
    instr.sources[instr.source_count++] = i % 2 == 0 ? reg(7) : ptx::operand{true, 4, 3};
    instr.results[instr.result_count++] = reg(i < 7 ? i : i + 1);
    k.code.push_back(instr);
  }
  ptx::assign_rows(k, ptx::build_block_graph(k.code), 21);
  int const special = k.specials[0].second;
  for (std::size_t i = 0; i < k.code.size(); ++i) {
    CHECK(k.code[i].sources[0].row == (i % 2 == 0 ? special : 3));
    CHECK(k.code[i].results[0].row != special);
  }
}
