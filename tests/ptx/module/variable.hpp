// SPDX-License-Identifier: Apache-2.0
// Declarations of parameters and of variables in shared memory. PTX ISA 5.4 "Variables".
#pragma once

#include <cstddef>
#include <string_view>

namespace ptx {

struct variable {
  std::string_view name;
  std::size_t alignment, bytes;  // bytes: 0 for an array of unknown size
};

// Parses the text after the state space: ".align 8 .b8 a[200]", ".u64 b", ".align 16 .b8 c[]".
// Throws fault if it is anything else.
variable parse_variable(std::string_view declaration);

constexpr std::size_t align_up(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace ptx
