// SPDX-License-Identifier: Apache-2.0
// Splits PTX text into statements, labels and braces. PTX ISA 4.1 "Source Format", 4.3
// "Statements". All views are into the given text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ptx {

bool is_space(char c);
// True for the characters of identifiers, directives and registers: letters, digits and _ $ % .
bool is_name_char(char c);
std::string_view trim(std::string_view s);
// Splits and trims: split("a, b", ',') is {"a", "b"}. Empty text has no parts.
std::vector<std::string_view> split(std::string_view s, char separator);
// Removes and returns the first word. Words end at spaces: ".reg .b32 %r" becomes ".b32 %r".
std::string_view take_word(std::string_view& s);

// Returns the end of the comment or string that begins at `position`; `position` if none does.
std::size_t skip_quoted(std::string_view text, std::size_t position);
// Returns the index of the first of `characters` at or after `position`, outside of comments and
// strings; text.size() if there is none.
std::size_t find_unquoted(std::string_view text, std::string_view characters, std::size_t position);
// Returns the index after the brace that closes the one at `open_brace`.
std::size_t end_of_braces(std::string_view text, std::size_t open_brace);

struct text_element {
  enum { statement, label, open_brace, close_brace } kind;
  std::string_view text;  // without a statement's semicolon or a label's colon
  int line;               // first line, from 1
};

// Splits a kernel's body, the text between its braces, which begins in line `line`. Throws fault if
// a statement does not end.
std::vector<text_element> split_elements(std::string_view body, int line);

}  // namespace ptx
