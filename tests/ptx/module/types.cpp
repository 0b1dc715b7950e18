// SPDX-License-Identifier: Apache-2.0
#include "types.hpp"

#include <algorithm>
#include <array>

namespace ptx {

namespace {

struct type_property {
  std::string_view name;
  std::size_t bytes;
};

// Indexed by type.
constexpr std::array<type_property, 20> properties{{
    {"none", 0}, {"pred", 1}, {"b8", 1},    {"b16", 2},    {"b32", 4}, {"b64", 8}, {"u8", 1},
    {"u16", 2},  {"u32", 4},  {"u64", 8},   {"s8", 1},     {"s16", 2}, {"s32", 4}, {"s64", 8},
    {"f16", 2},  {"bf16", 2}, {"f16x2", 4}, {"bf16x2", 4}, {"f32", 4}, {"f64", 8},
}};
static_assert(properties.size() == static_cast<std::size_t>(type::f64) + 1);

type_property const& property_of(type t) { return properties[static_cast<std::size_t>(t)]; }

}  // namespace

type parse_type(std::string_view name) {
  auto const found = std::find_if(properties.begin() + 1, properties.end(),
                                  [&](type_property const& p) { return p.name == name; });
  return found == properties.end() ? type::none : static_cast<type>(found - properties.begin());
}

std::string_view name_of(type t) { return property_of(t).name; }
std::size_t bytes_of(type t) { return property_of(t).bytes; }
bool is_floating_point(type t) { return t >= type::f16; }

}  // namespace ptx
