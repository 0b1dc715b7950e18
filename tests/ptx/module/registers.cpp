// SPDX-License-Identifier: Apache-2.0
#include "registers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>

namespace ptx {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class register_set {
 public:
  explicit register_set(int size) : words_((at(size) + 63) / 64) {}
  bool contains(int reg) const { return (words_[at(reg) / 64] >> (reg % 64) & 1) != 0; }
  void add(int reg) { words_[at(reg) / 64] |= std::uint64_t{1} << (reg % 64); }
  void operator|=(register_set const& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  // Adds the elements of `other` that are not in `without`. Returns true if the set has grown.
  bool add_difference(register_set const& other, register_set const& without) {
    std::uint64_t added = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      std::uint64_t const missing = other.words_[w] & ~without.words_[w] & ~words_[w];
      words_[w] |= missing;
      added |= missing;
    }
    return added != 0;
  }
  template <class F>
  void for_each(F f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        f(static_cast<int>(w * 64) + __builtin_ctzll(rest));
  }

 private:
  std::vector<std::uint64_t> words_;
};

// Calls f(register, is_written) for each register of an instruction; guard and sources come first.
template <class Instruction, class F>
void for_each_register(Instruction& instr, F f) {
  if (instr.guard >= 0) f(instr.guard, false);
  for (int i = 0; i < instr.source_count; ++i)
    if (!instr.sources[i].is_constant) f(instr.sources[i].row, false);
  for (int i = 0; i < instr.result_count; ++i) f(instr.results[i].row, true);
}

struct register_use {
  register_set read;     // registers read before they are written in the block
  register_set written;  // registers written by all lanes
};

register_use find_register_use(std::vector<instruction> const& code, int first, int end,
                               int registers) {
  register_use use{register_set(registers), register_set(registers)};
  for (int i = first; i < end; ++i)
    for_each_register(code[at(i)], [&](int reg, bool write) {
      if (use.written.contains(reg)) return;
      // A guarded write does not end the lifetime of the previous value.
      if (write && code[at(i)].guard < 0)
        use.written.add(reg);
      else
        use.read.add(reg);
    });
  return use;
}

}  // namespace

std::vector<lifetime> find_lifetimes(std::vector<instruction> const& code, block_graph const& graph,
                                     int virtual_registers) {
  // Registers that are live at the beginning and at the end of each block.
  std::vector<register_set> live_in, live_out(at(graph.blocks()), register_set(virtual_registers));
  std::vector<register_set> written;
  for (int b = 0; b < graph.blocks(); ++b) {
    register_use use = find_register_use(code, graph.first_instruction[at(b)],
                                         graph.first_instruction[at(b) + 1], virtual_registers);
    live_in.push_back(std::move(use.read));
    written.push_back(std::move(use.written));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int b = graph.blocks() - 1; b >= 0; --b) {
      for (int const n : graph.successors[at(b)])
        if (n != graph.end()) live_out[at(b)] |= live_in[at(n)];
      changed = live_in[at(b)].add_difference(live_out[at(b)], written[at(b)]) || changed;
    }
  }

  std::vector<lifetime> lifetimes(at(virtual_registers));
  auto const extend = [&](int reg, int index) {
    lifetime& l = lifetimes[at(reg)];
    l.first = l.first < 0 ? index : std::min(l.first, index);
    l.last = std::max(l.last, index);
  };
  for (int b = 0; b < graph.blocks(); ++b) {
    int const first = graph.first_instruction[at(b)], last = graph.first_instruction[at(b) + 1] - 1;
    live_in[at(b)].for_each([&](int reg) { extend(reg, first); });
    live_out[at(b)].for_each([&](int reg) { extend(reg, last); });
    for (int i = first; i <= last; ++i)
      for_each_register(code[at(i)], [&](int reg, bool) { extend(reg, i); });
  }
  return lifetimes;
}

// Poletto and Sarkar, "Linear Scan Register Allocation", without spilling.
void assign_rows(kernel& k, block_graph const& graph, int virtual_registers) {
  std::vector<lifetime> const ranges = find_lifetimes(k.code, graph, virtual_registers);
  std::vector<int> row(at(virtual_registers), -1);
  int rows = 0;
  for (auto& [name, special] : k.specials) {
    row[at(special)] = rows;
    special = rows++;
  }
  std::vector<int> by_start;
  for (int reg = 0; reg < virtual_registers; ++reg)
    if (ranges[at(reg)].first >= 0 && row[at(reg)] < 0) by_start.push_back(reg);
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](int a, int b) { return ranges[at(a)].first < ranges[at(b)].first; });

  std::vector<int> free;
  auto const ends_later = [&](int a, int b) { return ranges[at(a)].last > ranges[at(b)].last; };
  std::priority_queue<int, std::vector<int>, decltype(ends_later)> busy(ends_later);
  for (int const reg : by_start) {
    while (!busy.empty() && ranges[at(busy.top())].last < ranges[at(reg)].first) {
      free.push_back(row[at(busy.top())]);
      busy.pop();
    }
    if (free.empty()) free.push_back(rows++);
    row[at(reg)] = free.back();  // the most recently used row is most likely cached
    free.pop_back();
    busy.push(reg);
  }
  for (instruction& instr : k.code)
    for_each_register(instr, [&](std::int32_t& reg, bool) { reg = row[at(reg)]; });
  k.registers = rows;
}

}  // namespace ptx
