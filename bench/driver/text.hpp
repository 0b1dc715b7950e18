// SPDX-License-Identifier: Apache-2.0
// The text of the byte-level task, read once.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// A mistake on the command line: one message, exit status 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::vector<std::uint8_t> read_text(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error("cannot read the text " + path);
  std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(file)),
                                  std::istreambuf_iterator<char>());
  if (file.bad()) throw usage_error("cannot read the text " + path);
  if (bytes.empty()) throw usage_error("the text " + path + " is empty");
  return bytes;
}

// The text of this process; set once, before any case runs.
inline std::vector<std::uint8_t>& the_text() {
  static std::vector<std::uint8_t> text;
  return text;
}

}  // namespace bench
