// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include "../machine/fault.hpp"

#include <algorithm>
#include <string>

namespace ptx {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char by) {
  std::vector<std::string_view> parts;
  if (trimmed(s).empty()) return parts;
  for (;;) {
    std::size_t const end = s.find(by);
    parts.push_back(trimmed(s.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    s.remove_prefix(end + 1);
  }
}

std::string_view take_word(std::string_view& s) {
  s = trimmed(s);
  auto const end = static_cast<std::size_t>(std::find_if(s.begin(), s.end(), is_space) - s.begin());
  std::string_view const word = s.substr(0, end);
  s = trimmed(s.substr(end));
  return word;
}

std::size_t skip_quoted(std::string_view text, std::size_t at) {
  auto const behind = [&](std::string_view end, std::size_t from) {
    std::size_t const found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  if (text[at] == '"') return behind("\"", at + 1);
  if (text.compare(at, 2, "/*") == 0) return behind("*/", at + 2);
  if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
  return at;
}

std::size_t find_outside(std::string_view text, std::string_view wanted, std::size_t at) {
  while (at < text.size()) {
    if (text[at] == '"' || text[at] == '/') {
      if (std::size_t const behind = skip_quoted(text, at); behind != at) {
        at = behind;
        continue;
      }
    }
    if (wanted.find(text[at]) != std::string_view::npos) return at;
    ++at;
  }
  return text.size();
}

std::size_t end_of_braces(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; (at = find_outside(text, "{}", at)) < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : -1;
    if (depth == 0) return at + 1;
  }
  throw fault("PTX: a brace is not closed");
}

std::vector<piece> cut_body(std::string_view body, int line) {
  std::vector<piece> pieces;
  std::size_t at = 0;
  auto const step_to = [&](std::size_t next) {
    line += static_cast<int>(std::count(body.begin() + static_cast<std::ptrdiff_t>(at),
                                        body.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
    at = next;
  };
  while (at < body.size()) {
    if (is_space(body[at])) {
      step_to(at + 1);
    } else if (std::size_t const behind = skip_quoted(body, at); behind != at) {
      step_to(behind);
    } else if (body[at] == '{' || body[at] == '}') {
      pieces.push_back({body[at] == '{' ? piece::open : piece::close, body.substr(at, 1), line});
      step_to(at + 1);
    } else {
      // A colon ends a label only right behind a name: `ld.shared::cta` has two in its midst.
      std::size_t const name = static_cast<std::size_t>(
          std::find_if_not(body.begin() + static_cast<std::ptrdiff_t>(at), body.end(), is_name) -
          body.begin());
      if (name > at && body.compare(name, 1, ":") == 0 && body.compare(name, 2, "::") != 0) {
        pieces.push_back({piece::label, body.substr(at, name - at), line});
        step_to(name + 1);
        continue;
      }
      std::size_t const end = find_outside(body, ";", at);
      if (end == body.size())
        throw fault("PTX: a statement does not end: `" + std::string(body.substr(at, 80)) + "`");
      pieces.push_back({piece::statement, trimmed(body.substr(at, end - at)), line});
      step_to(end + 1);
    }
  }
  return pieces;
}

}  // namespace ptx
