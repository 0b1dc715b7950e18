// SPDX-License-Identifier: Apache-2.0
// Conversions of numbers and text, independent of the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace learning {

/// Parses a text that is exactly a number, without spaces.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  char const* const end = text.data() + text.size();
  std::from_chars_result const result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end ? std::optional<T>(value) : std::nullopt;
}
/// Formats a number as printf's `%g` does.
inline std::string format_number(double value, int digits) {
  char text[40];
  auto const result = std::to_chars(text, text + 40, value, std::chars_format::general, digits);
  return {text, result.ptr};
}

}  // namespace learning
