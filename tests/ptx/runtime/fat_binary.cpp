// SPDX-License-Identifier: Apache-2.0
#include "fat_binary.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ptx::runtime {

namespace {

struct header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // of all entries
};
constexpr std::uint32_t header_magic = 0xba55ed50;

// The first fields of an entry.
struct entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
};
constexpr std::uint16_t kind_ptx = 1;

template <class T>
T read(unsigned char const* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// Returns 90 for `.target sm_90`; 0 if the data has no target because it is not text.
int parse_target(std::string_view text) {
  constexpr std::string_view target = "\n.target sm_";
  auto const position = text.find(target);
  return position == std::string_view::npos ? 0 : std::atoi(text.data() + position + target.size());
}

}  // namespace

ptx_search find_ptx(int compute_capability, void const* data) {
  auto const* position = static_cast<unsigned char const*>(data);
  auto const file = read<header>(position);
  if (file.magic != header_magic) return {"", "a fat binary of an unsupported format"};
  position += file.header_bytes;
  bool has_compressed = false;
  int best_target = 0;
  ptx_search result;
  for (auto const* const end = position + file.bytes; position < end;) {
    auto const entry_header = read<entry>(position);
    if (entry_header.kind == kind_ptx) {
      // Zeros may follow the text.
      std::string_view text(reinterpret_cast<char const*>(position + entry_header.header_bytes),
                            static_cast<std::size_t>(entry_header.bytes));
      text = text.substr(0, text.find('\0'));
      int const target = parse_target(text);
      has_compressed |= target == 0;
      if (target > best_target && target <= compute_capability) {
        best_target = target;
        result.ptx = text;
      }
    }
    position += entry_header.header_bytes + entry_header.bytes;
  }
  std::string const device = "sm_" + std::to_string(compute_capability);
  if (best_target == 0 && has_compressed)
    result.error_message = "the PTX is compressed; compile with nvcc --no-compress";
  else if (best_target == 0)
    result.error_message = "there is no PTX that " + device +
                           " supports; compile with -gencode arch=compute_" +
                           std::to_string(compute_capability) + ",code=compute_" +
                           std::to_string(compute_capability) + " --no-compress";
  return result;
}

}  // namespace ptx::runtime
