// SPDX-License-Identifier: Apache-2.0
// Types and state spaces of PTX operands. PTX ISA 5.1 "State Spaces", 5.2 "Types".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ptx {

enum class type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  f32,
  f64
};

// Returns the type of a name such as "u32"; `none` if there is no such type.
type parse_type(std::string_view name);
std::string_view name_of(type t);
// Size in memory; a predicate counts as one byte.
std::size_t bytes_of(type t);
// True for f16 and bf16, pairs of them, f32 and f64.
bool is_floating_point(type t);

// generic: the address determines the space.
enum class state_space : std::uint8_t { generic, global, shared, param, local, constant };

}  // namespace ptx
