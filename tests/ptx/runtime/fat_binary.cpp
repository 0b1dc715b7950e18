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
T read(unsigned char const* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Of `.target sm_90`; 0 when there is none, because it is no text.
int target_of(std::string_view text) {
  constexpr std::string_view target = "\n.target sm_";
  auto const at = text.find(target);
  return at == std::string_view::npos ? 0 : std::atoi(text.data() + at + target.size());
}

}  // namespace

found_text text_for(int compute_capability, void const* data) {
  auto const* at = static_cast<unsigned char const*>(data);
  auto const all = read<header>(at);
  if (all.magic != header_magic) return {"", "a fat binary of a format that is not known here"};
  at += all.header_bytes;
  bool compressed = false;
  int best = 0;
  found_text found;
  for (auto const* const end = at + all.bytes; at < end;) {
    auto const one = read<entry>(at);
    if (one.kind == kind_ptx) {
      // Zeros may follow the text.
      std::string_view text(reinterpret_cast<char const*>(at + one.header_bytes),
                            static_cast<std::size_t>(one.bytes));
      text = text.substr(0, text.find('\0'));
      int const target = target_of(text);
      compressed |= target == 0;
      if (target > best && target <= compute_capability) {
        best = target;
        found.ptx = text;
      }
    }
    at += one.header_bytes + one.bytes;
  }
  std::string const device = "sm_" + std::to_string(compute_capability);
  if (best == 0 && compressed)
    found.refusal = "the PTX is compressed; compile with nvcc --no-compress";
  else if (best == 0)
    found.refusal = "there is no PTX that " + device +
                    " takes; compile with -gencode arch=compute_" +
                    std::to_string(compute_capability) + ",code=compute_" +
                    std::to_string(compute_capability) + " --no-compress";
  return found;
}

}  // namespace ptx::runtime
