// SPDX-License-Identifier: Apache-2.0
#include "access_widths.hpp"

#include "../instructions/form.hpp"

#include <algorithm>
#include <string_view>

namespace ptx {

access_widths access_widths_of(std::vector<instruction> const& code) {
  access_widths found;
  for (instruction const& n : code) {
    if (n.form == nullptr) continue;
    char const first = n.form->opcode[0];
    if (first != 'l' && first != 's' && first != 'c') continue;
    std::string_view const opcode = n.form->opcode;
    if (opcode == "ld" || opcode == "st") {
      if (n.where == space::param) continue;
      std::size_t const width = bytes_of(n.t);
      if (n.where != space::global) found.shared = std::min(found.shared, width);
      if (n.where != space::shared) found.global = std::min(found.global, width);
      if (n.where == space::shared && width * n.count == 16) found.shared_lines = true;
    } else if (opcode == "cp") {
      if (n.source_count == 0) continue;
      found.shared = std::min<std::size_t>(found.shared, n.count);
      found.global = 1;  // a register determines how many bytes are read
      if (n.count == 16) found.shared_lines = true;
    } else if (opcode == "ldmatrix") {
      found.shared_lines = true;
    }
  }
  return found;
}

}  // namespace ptx
