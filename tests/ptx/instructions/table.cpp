// SPDX-License-Identifier: Apache-2.0
#include "form.hpp"

#include <unordered_map>

namespace ptx {

namespace {

std::vector<form> joined(std::initializer_list<std::vector<form>> chapters) {
  std::vector<form> all;
  for (std::vector<form> const& chapter : chapters)
    all.insert(all.end(), chapter.begin(), chapter.end());
  return all;
}

}  // namespace

std::vector<form> const& instruction_table() {
  static std::vector<form> const table =
      joined({integer_arithmetic(), floating_point(), comparison(), logic_and_shift(), movement(),
              conversion(), control_flow(), loads_and_stores(), addresses(), asynchronous_copies(),
              shuffles(), barriers(), matrices()});
  return table;
}

form const* find_form(std::string_view opcode, type last) {
  static auto const rows = [] {
    std::unordered_multimap<std::string_view, form const*> by_opcode;
    for (form const& f : instruction_table()) by_opcode.emplace(f.opcode, &f);
    return by_opcode;
  }();
  numbers const wanted = is_floating_point(last) ? numbers::floating_point : numbers::integer;
  auto const [from, to] = rows.equal_range(opcode);
  for (auto row = from; row != to; ++row)
    if (row->second->of == numbers::any || row->second->of == wanted) return row->second;
  return nullptr;
}

}  // namespace ptx
