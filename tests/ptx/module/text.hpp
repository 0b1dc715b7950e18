// SPDX-License-Identifier: Apache-2.0
// Cuts PTX text into its pieces. PTX ISA 4.1 "Source Format", 4.3 "Statements". All views are into
// the text that was given.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ptx {

bool is_space(char c);
// Of an identifier, a directive, a register: letters, digits and _ $ % .
bool is_name(char c);
std::string_view trimmed(std::string_view s);
// At each `by`, and trimmed: split("a, b", ',') is {"a", "b"}. Of an empty text: nothing.
std::vector<std::string_view> split(std::string_view s, char by);
// Takes the first word off, which ends at a space: ".reg .b32 %r" becomes ".b32 %r".
std::string_view take_word(std::string_view& s);

// Where a comment or a string that begins at `at` ends; `at` itself where none begins there.
std::size_t skip_quoted(std::string_view text, std::size_t at);
// The index of the first of `wanted` from `at` on, outside of comments and strings; text.size()
// when there is none.
std::size_t find_outside(std::string_view text, std::string_view wanted, std::size_t at);
// The index behind the brace that closes the one at `open`.
std::size_t end_of_braces(std::string_view text, std::size_t open);

struct piece {
  enum kind { statement, label, open, close } is;
  std::string_view text;  // of a statement, without its semicolon; of a label, without its colon
  int line;               // in which it begins, from 1
};

// The pieces of a kernel's body, which lies between its braces. `line` is that of its first
// character. Throws fault when a statement does not end.
std::vector<piece> cut_body(std::string_view body, int line);

}  // namespace ptx
