// SPDX-License-Identifier: Apache-2.0
// The instruction table: the rows of all chapters, and their lookup by opcode.
#include "form.hpp"

#include <unordered_map>

namespace ptx {

namespace {

std::vector<opcode_info> concatenate(std::initializer_list<std::vector<opcode_info>> chapters) {
  std::vector<opcode_info> table;
  for (std::vector<opcode_info> const& chapter : chapters)
    table.insert(table.end(), chapter.begin(), chapter.end());
  return table;
}

}  // namespace

std::vector<opcode_info> const& instruction_table() {
  static std::vector<opcode_info> const table =
      concatenate({integer_arithmetic(), floating_point(), comparison(), logic_and_shift(),
                   movement(), conversion(), control_flow(), loads_and_stores(), addresses(),
                   asynchronous_copies(), shuffles(), barriers(), matrices()});
  return table;
}

opcode_info const* find_opcode(std::string_view opcode, type last_type) {
  static auto const rows = [] {
    std::unordered_multimap<std::string_view, opcode_info const*> by_opcode;
    for (opcode_info const& info : instruction_table()) by_opcode.emplace(info.name, &info);
    return by_opcode;
  }();
  type_class const kind =
      is_floating_point(last_type) ? type_class::floating_point : type_class::integer;
  auto const [first, last_row] = rows.equal_range(opcode);
  for (auto row = first; row != last_row; ++row)
    if (row->second->kind == type_class::any || row->second->kind == kind) return row->second;
  return nullptr;
}

}  // namespace ptx
