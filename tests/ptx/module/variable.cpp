// SPDX-License-Identifier: Apache-2.0
#include "variable.hpp"

#include "../machine/fault.hpp"
#include "names.hpp"
#include "text.hpp"
#include "types.hpp"

#include <string>

namespace ptx {

variable parse_variable(std::string_view declaration) {
  auto const fail_unsupported = [&]() -> std::size_t {
    throw fault("PTX: an unsupported declaration: `" + std::string(declaration) + "`");
  };
  auto const parse_size = [&](std::string_view s) {
    auto const n = parse_number(trim(s));
    return n && *n <= 1u << 30 ? static_cast<std::size_t>(*n) : fail_unsupported();
  };
  std::string_view rest = declaration;
  std::string_view word = take_word(rest);
  std::size_t alignment = 0;
  if (word == ".align") {
    alignment = parse_size(take_word(rest));
    word = take_word(rest);
  }
  type const element = word.empty() ? type::none : parse_type(word.substr(1));
  if (word.substr(0, 1) != "." || element == type::none) fail_unsupported();
  // Attributes of a pointer parameter: `.u64 .ptr .global .align 1 a`.
  if (rest.substr(0, 5) == ".ptr ")
    while (rest.substr(0, 1) == ".")
      if (take_word(rest) == ".align") take_word(rest);

  std::size_t const bracket = rest.find('[');
  std::size_t count = 1;
  if (bracket != std::string_view::npos) {
    if (rest.back() != ']') fail_unsupported();
    std::string_view const inside = rest.substr(bracket + 1, rest.size() - bracket - 2);
    count = trim(inside).empty() ? 0 : parse_size(inside);
  }
  std::string_view const name = trim(rest.substr(0, bracket));
  for (char const c : name)
    if (!is_name_char(c)) fail_unsupported();
  if (name.empty()) fail_unsupported();
  std::size_t const element_bytes = bytes_of(element);
  return {name, alignment == 0 ? element_bytes : alignment, element_bytes * count};
}

}  // namespace ptx
