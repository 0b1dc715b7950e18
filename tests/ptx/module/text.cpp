// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include "../machine/fault.hpp"

#include <algorithm>
#include <string>

namespace ptx {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  if (trim(s).empty()) return parts;
  for (;;) {
    std::size_t const end = s.find(separator);
    parts.push_back(trim(s.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    s.remove_prefix(end + 1);
  }
}

std::string_view take_word(std::string_view& s) {
  s = trim(s);
  auto const end = static_cast<std::size_t>(std::find_if(s.begin(), s.end(), is_space) - s.begin());
  std::string_view const word = s.substr(0, end);
  s = trim(s.substr(end));
  return word;
}

std::size_t skip_quoted(std::string_view text, std::size_t position) {
  auto const end_after = [&](std::string_view end_mark, std::size_t first) {
    std::size_t const found = text.find(end_mark, first);
    return found == std::string_view::npos ? text.size() : found + end_mark.size();
  };
  if (text[position] == '"') return end_after("\"", position + 1);
  if (text.compare(position, 2, "/*") == 0) return end_after("*/", position + 2);
  if (text.compare(position, 2, "//") == 0) return std::min(text.find('\n', position), text.size());
  return position;
}

std::size_t find_unquoted(std::string_view text, std::string_view characters,
                          std::size_t position) {
  while (position < text.size()) {
    if (text[position] == '"' || text[position] == '/') {
      if (std::size_t const end = skip_quoted(text, position); end != position) {
        position = end;
        continue;
      }
    }
    if (characters.find(text[position]) != std::string_view::npos) return position;
    ++position;
  }
  return text.size();
}

std::size_t end_of_braces(std::string_view text, std::size_t open_brace) {
  int depth = 0;
  for (std::size_t position = open_brace;
       (position = find_unquoted(text, "{}", position)) < text.size(); ++position) {
    depth += text[position] == '{' ? 1 : -1;
    if (depth == 0) return position + 1;
  }
  throw fault("PTX: a brace is not closed");
}

std::vector<text_element> split_elements(std::string_view body, int line) {
  std::vector<text_element> elements;
  std::size_t position = 0;
  auto const advance_to = [&](std::size_t next) {
    line += static_cast<int>(std::count(body.begin() + static_cast<std::ptrdiff_t>(position),
                                        body.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
    position = next;
  };
  while (position < body.size()) {
    if (is_space(body[position])) {
      advance_to(position + 1);
    } else if (std::size_t const next = skip_quoted(body, position); next != position) {
      advance_to(next);
    } else if (body[position] == '{' || body[position] == '}') {
      elements.push_back(
          {body[position] == '{' ? text_element::open_brace : text_element::close_brace,
           body.substr(position, 1), line});
      advance_to(position + 1);
    } else {
      // A label ends with a single colon after its name; `ld.shared::cta` is not a label.
      std::size_t const name_end = static_cast<std::size_t>(
          std::find_if_not(body.begin() + static_cast<std::ptrdiff_t>(position), body.end(),
                           is_name_char) -
          body.begin());
      if (name_end > position && body.compare(name_end, 1, ":") == 0 &&
          body.compare(name_end, 2, "::") != 0) {
        elements.push_back({text_element::label, body.substr(position, name_end - position), line});
        advance_to(name_end + 1);
        continue;
      }
      std::size_t const end = find_unquoted(body, ";", position);
      if (end == body.size())
        throw fault("PTX: a statement does not end: `" + std::string(body.substr(position, 80)) +
                    "`");
      elements.push_back(
          {text_element::statement, trim(body.substr(position, end - position)), line});
      advance_to(end + 1);
    }
  }
  return elements;
}

}  // namespace ptx
