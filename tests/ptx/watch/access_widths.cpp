// SPDX-License-Identifier: Apache-2.0
#include "access_widths.hpp"

#include "../instructions/form.hpp"

#include <algorithm>
#include <string_view>

namespace ptx {

access_widths access_widths_of(std::vector<instruction> const& code) {
  access_widths found;
  for (instruction const& instr : code) {
    if (instr.opcode == nullptr) continue;
    char const first = instr.opcode->name[0];
    if (first != 'l' && first != 's' && first != 'c') continue;
    std::string_view const opcode = instr.opcode->name;
    if (opcode == "ld" || opcode == "st") {
      if (instr.space == state_space::param) continue;
      std::size_t const width = bytes_of(instr.result_type);
      if (instr.space != state_space::global) found.shared = std::min(found.shared, width);
      if (instr.space != state_space::shared) found.global = std::min(found.global, width);
      if (instr.space == state_space::shared && width * instr.count == 16)
        found.shared_lines = true;
    } else if (opcode == "cp") {
      if (instr.source_count == 0) continue;
      found.shared = std::min<std::size_t>(found.shared, instr.count);
      found.global = 1;  // a register determines how many bytes are read
      if (instr.count == 16) found.shared_lines = true;
    } else if (opcode == "ldmatrix") {
      found.shared_lines = true;
    }
  }
  return found;
}

}  // namespace ptx
