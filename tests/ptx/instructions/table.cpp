// SPDX-License-Identifier: Apache-2.0
#include "form.hpp"

#include <unordered_map>

namespace ptx {

namespace {

std::vector<form> with_reader(std::initializer_list<std::vector<form>> chapters) {
  std::vector<form> table;
  for (std::vector<form> const& chapter : chapters)
    table.insert(table.end(), chapter.begin(), chapter.end());
  return table;
}

}  // namespace

std::vector<form> const& instruction_table() {
  static std::vector<form> const table =
      with_reader({integer_arithmetic(), floating_point(), comparison(), logic_and_shift(),
                   movement(), conversion(), control_flow(), loads_and_stores(), addresses(),
                   asynchronous_copies(), shuffles(), barriers(), matrices()});
  return table;
}

form const* find_form(std::string_view opcode, type last_type) {
  static auto const rows = [] {
    std::unordered_multimap<std::string_view, form const*> by_opcode;
    for (form const& f : instruction_table()) by_opcode.emplace(f.opcode, &f);
    return by_opcode;
  }();
  number_kind const kind =
      is_floating_point(last_type) ? number_kind::floating_point : number_kind::integer;
  auto const [first, last_row] = rows.equal_range(opcode);
  for (auto row = first; row != last_row; ++row)
    if (row->second->kind == number_kind::any || row->second->kind == kind) return row->second;
  return nullptr;
}

}  // namespace ptx
