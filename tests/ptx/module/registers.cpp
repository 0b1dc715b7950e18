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
  bool has(int r) const { return (words_[at(r) / 64] >> (r % 64) & 1) != 0; }
  void add(int r) { words_[at(r) / 64] |= std::uint64_t{1} << (r % 64); }
  void operator|=(register_set const& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  // Adds those of `other` that are not in `without`; whether there was a new one.
  bool add_difference(register_set const& other, register_set const& without) {
    std::uint64_t fresh = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      std::uint64_t const more = other.words_[w] & ~without.words_[w] & ~words_[w];
      words_[w] |= more;
      fresh |= more;
    }
    return fresh != 0;
  }
  template <class F>
  void each(F f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        f(static_cast<int>(w * 64) + __builtin_ctzll(rest));
  }

 private:
  std::vector<std::uint64_t> words_;
};

// f(register, whether it is written): sources and guard first.
template <class Instruction, class F>
void each_register(Instruction& n, F f) {
  if (n.guard >= 0) f(n.guard, false);
  for (int i = 0; i < n.source_count; ++i)
    if (!n.sources[i].constant) f(n.sources[i].row, false);
  for (int i = 0; i < n.result_count; ++i) f(n.results[i].row, true);
}

struct block_use {
  register_set read;     // before it is written in the block
  register_set written;  // by all lanes that come here
};

block_use use_of(std::vector<instruction> const& code, int first, int behind, int registers) {
  block_use use{register_set(registers), register_set(registers)};
  for (int i = first; i < behind; ++i)
    each_register(code[at(i)], [&](int r, bool write) {
      if (use.written.has(r)) return;
      // What a guard keeps from being written is wanted still.
      if (write && code[at(i)].guard < 0)
        use.written.add(r);
      else
        use.read.add(r);
    });
  return use;
}

}  // namespace

std::vector<lifetime> lifetimes(std::vector<instruction> const& code, block_graph const& graph,
                                int virtual_registers) {
  // Which registers are wanted at the beginning and at the end of each block.
  std::vector<register_set> before, behind(at(graph.blocks()), register_set(virtual_registers));
  std::vector<register_set> written;
  for (int b = 0; b < graph.blocks(); ++b) {
    block_use use = use_of(code, graph.first[at(b)], graph.first[at(b) + 1], virtual_registers);
    before.push_back(std::move(use.read));
    written.push_back(std::move(use.written));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int b = graph.blocks() - 1; b >= 0; --b) {
      for (int const n : graph.next[at(b)])
        if (n != graph.end()) behind[at(b)] |= before[at(n)];
      changed = before[at(b)].add_difference(behind[at(b)], written[at(b)]) || changed;
    }
  }

  std::vector<lifetime> found(at(virtual_registers));
  auto const extend = [&](int r, int to) {
    lifetime& l = found[at(r)];
    l.first = l.first < 0 ? to : std::min(l.first, to);
    l.last = std::max(l.last, to);
  };
  for (int b = 0; b < graph.blocks(); ++b) {
    int const first = graph.first[at(b)], last = graph.first[at(b) + 1] - 1;
    before[at(b)].each([&](int r) { extend(r, first); });
    behind[at(b)].each([&](int r) { extend(r, last); });
    for (int i = first; i <= last; ++i)
      each_register(code[at(i)], [&](int r, bool) { extend(r, i); });
  }
  return found;
}

// Poletto and Sarkar, "Linear Scan Register Allocation"; there are always rows enough.
void assign_rows(kernel& k, block_graph const& graph, int virtual_registers) {
  std::vector<lifetime> const lives = lifetimes(k.code, graph, virtual_registers);
  std::vector<int> row(at(virtual_registers), -1);
  int rows = 0;
  for (auto& [name, special] : k.specials) {
    row[at(special)] = rows;
    special = rows++;
  }
  std::vector<int> by_first;
  for (int r = 0; r < virtual_registers; ++r)
    if (lives[at(r)].first >= 0 && row[at(r)] < 0) by_first.push_back(r);
  std::stable_sort(by_first.begin(), by_first.end(),
                   [&](int a, int b) { return lives[at(a)].first < lives[at(b)].first; });

  std::vector<int> free;
  auto const ends_later = [&](int a, int b) { return lives[at(a)].last > lives[at(b)].last; };
  std::priority_queue<int, std::vector<int>, decltype(ends_later)> busy(ends_later);
  for (int const r : by_first) {
    while (!busy.empty() && lives[at(busy.top())].last < lives[at(r)].first) {
      free.push_back(row[at(busy.top())]);
      busy.pop();
    }
    if (free.empty()) free.push_back(rows++);
    row[at(r)] = free.back();  // the last to become free is the likeliest to be in a cache
    free.pop_back();
    busy.push(r);
  }
  for (instruction& n : k.code) each_register(n, [&](std::int32_t& r, bool) { r = row[at(r)]; });
  k.registers = rows;
}

}  // namespace ptx
