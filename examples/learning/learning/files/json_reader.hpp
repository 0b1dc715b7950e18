// SPDX-License-Identifier: Apache-2.0
// The part of JSON that a safetensors header has: objects, arrays of whole numbers, and strings;
// the strings are written here too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace learning {

/// What is wrong with a file, in a sentence for the user.
struct checkpoint_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads a text from its beginning. Every member refuses what is not there with a
/// `checkpoint_error` that names the place.
class json_reader {
 public:
  explicit json_reader(std::string_view text) : text_(text) {}

  /// Calls f(key) for every key of an object; f reads the value.
  template <class F>
  void object(F const& f) {
    each('{', '}', [&] {
      std::string const key = string();
      expect(':');
      f(key);
    });
  }
  /// Calls f() for every element of an array; f reads it.
  template <class F>
  void array(F const& f) {
    each('[', ']', f);
  }
  /// A whole number from 0 to 2^63 - 1, without sign, point or leading zeros.
  std::int64_t number() {
    skip_spaces();
    std::size_t const first = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      int const digit = text_[at_] - '0';
      if (value > (INT64_MAX - digit) / 10) fail("a number is too great");
      value = value * 10 + digit;
    }
    if (at_ == first) fail("a whole number is missing");
    if (text_[first] == '0' && at_ > first + 1) fail("a number begins with 0");
    return value;
  }
  std::string string() {
    expect('"');
    std::string all;
    for (;;) {
      unsigned char const letter = next();
      if (letter == '"') return all;
      if (letter < 0x20) fail("a string has a control character");
      if (letter == '\\')
        add_escaped(all);
      else if (letter < 0x80)
        all += static_cast<char>(letter);
      else
        add_utf8(letter, all);
    }
  }
  /// After the value: nothing but spaces.
  void end() {
    skip_spaces();
    if (at_ != text_.size()) fail("there is something after the header's object");
  }
  [[noreturn]] void fail(std::string const& what) const {
    throw checkpoint_error(what + " (byte " + std::to_string(at_) + " of the header)");
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool has(char letter) {
    skip_spaces();
    bool const here = at_ < text_.size() && text_[at_] == letter;
    at_ += here ? 1 : 0;
    return here;
  }
  void expect(char letter) {
    if (!has(letter)) fail(std::string("'") + letter + "' is missing");
  }
  template <class F>
  void each(char open, char close, F const& f) {
    expect(open);
    if (has(close)) return;
    do f();
    while (has(','));
    expect(close);
  }
  unsigned char next() {
    if (at_ == text_.size()) fail("the header ends within a string");
    return static_cast<unsigned char>(text_[at_++]);
  }
  void add_escaped(std::string& all) {
    static constexpr std::string_view names = "\"\\/bfnrt", letters = "\"\\/\b\f\n\r\t";
    unsigned char const name = next();
    if (name == 'u') return add_code(all);
    std::size_t const which = names.find(static_cast<char>(name));
    if (which == std::string_view::npos) fail("a string has an unknown escape");
    all += letters[which];
  }
  std::uint32_t hex4() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      unsigned char const c = next();
      std::uint32_t const digit = c >= '0' && c <= '9'   ? c - '0'
                                  : c >= 'a' && c <= 'f' ? c - 'a' + 10u
                                  : c >= 'A' && c <= 'F' ? c - 'A' + 10u
                                                         : 16u;
      if (digit > 15) fail("a \\u escape needs four hexadecimal digits");
      value = value * 16 + digit;
    }
    return value;
  }
  // A code point, maybe of two surrogates, as UTF-8.
  void add_code(std::string& all) {
    std::uint32_t code = hex4();
    if (code >= 0xd800 && code < 0xe000) {
      if (code >= 0xdc00 || next() != '\\' || next() != 'u') fail("half a surrogate pair");
      std::uint32_t const low = hex4();
      if (low < 0xdc00 || low >= 0xe000) fail("half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    int const more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static constexpr std::uint32_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    all += static_cast<char>(lead[more] | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i) all += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
  }
  // The rest of a code point whose first byte is `lead`: the shortest form, no surrogate, no number
  // past the last one.
  void add_utf8(unsigned char lead, std::string& all) {
    int const more = lead >= 0xc2 && lead < 0xe0   ? 1
                     : lead >= 0xe0 && lead < 0xf0 ? 2
                     : lead >= 0xf0 && lead < 0xf5 ? 3
                                                   : 0;
    if (more == 0) fail("a string is not UTF-8");
    static constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    std::uint32_t code = lead & (0x3fu >> more);
    all += static_cast<char>(lead);
    for (int i = 0; i < more; ++i) {
      unsigned char const c = next();
      if ((c & 0xc0) != 0x80) fail("a string is not UTF-8");
      code = code << 6 | (c & 0x3fu);
      all += static_cast<char>(c);
    }
    if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      fail("a string is not UTF-8");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// A text as JSON. Refuses one that is not UTF-8, which JSON cannot hold.
inline std::string json_quoted(std::string_view text) {
  std::string all = "\"";
  for (char const letter : text) {
    char code[8] = {letter};
    if (letter == '"' || letter == '\\')
      all += '\\';
    else if (static_cast<unsigned char>(letter) < 0x20)
      std::snprintf(code, sizeof code, "\\u%04x", letter);
    all += code;
  }
  all += '"';
  try {
    json_reader(all).string();
  } catch (checkpoint_error const&) {
    throw checkpoint_error("a name or text is not UTF-8: " + std::string(text));
  }
  return all;
}

}  // namespace learning
