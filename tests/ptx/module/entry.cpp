// SPDX-License-Identifier: Apache-2.0
#include "entry.hpp"

#include "../machine/fault.hpp"
#include "text.hpp"
#include "variable.hpp"

#include <algorithm>
#include <string>

namespace ptx {

namespace {

void read_parameters(std::string_view list, kernel& k, names& scope_names) {
  for (std::string_view const parameter : split(list, ',')) {
    std::string_view declaration = parameter;
    if (take_word(declaration) != ".param")
      throw fault("PTX: an unsupported parameter: `" + std::string(parameter) + "`");
    variable const parsed = parse_variable(declaration);
    std::size_t const offset = align_up(k.parameter_bytes, parsed.alignment);
    scope_names.declare_variable(parsed.name, {state_space::param, offset});
    k.parameters.push_back({offset, parsed.bytes});
    k.parameter_bytes = offset + parsed.bytes;
  }
}

// ".maxntid 512, 1, 1 .minnctapersm 1".
void read_performance_directives(std::string_view directives, kernel& k) {
  auto const fail_unsupported = [&] {
    throw fault("PTX: unsupported directives: `" + std::string(directives) + "`");
  };
  for (std::string_view rest = directives; !rest.empty();) {
    std::string_view const directive = take_word(rest);
    std::size_t const end = std::min(rest.find('.'), rest.size());
    std::uint64_t threads = 1;
    for (std::string_view const extent : split(rest.substr(0, end), ',')) {
      auto const n = parse_number(extent);
      if (!n || *n > 1u << 16) fail_unsupported();
      threads *= *n;
    }
    rest.remove_prefix(end);
    if (directive == ".maxntid")
      k.max_threads = static_cast<unsigned>(threads);
    else if (directive != ".minnctapersm" && directive != ".maxnreg")  // only for the compiler
      fail_unsupported();
  }
}

}  // namespace

kernel_text read_entry(std::string_view text, kernel& k, names& scope_names) {
  std::size_t const brace = find_unquoted(text, "{", 0);
  std::string_view const head = text.substr(0, brace);
  std::size_t const open_paren = head.find('('), close_paren = head.find(')');
  k.name = std::string(trim(head.substr(0, std::min(open_paren, head.find_first_of(" \t\n.")))));
  if (open_paren != std::string_view::npos) {
    if (close_paren == std::string_view::npos)
      throw fault("PTX: parameters of " + k.name + " do not end");
    read_parameters(head.substr(open_paren + 1, close_paren - open_paren - 1), k, scope_names);
  }
  read_performance_directives(
      trim(head.substr(open_paren == std::string_view::npos ? k.name.size() + 1 : close_paren + 1)),
      k);
  std::size_t const end = end_of_braces(text, brace);
  for (std::string_view lines = text.substr(0, end);;) {
    std::size_t const newline = lines.find('\n');
    k.lines.emplace_back(lines.substr(0, newline));
    if (newline == std::string_view::npos) break;
    lines.remove_prefix(newline + 1);
  }
  return {text.substr(brace + 1, end - brace - 2),
          1 + static_cast<int>(std::count(head.begin(), head.end(), '\n'))};
}

}  // namespace ptx
