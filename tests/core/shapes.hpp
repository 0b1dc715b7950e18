// SPDX-License-Identifier: Apache-2.0
// Invalid and very large shapes, and views of them without memory.
#pragma once

#include "support/inputs.hpp"

#include <slicesort/error.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace support {

namespace ss = slicesort;
using ss::index_t;

__extension__ typedef __int128 int128;

// Extents on both sides of every limit: 0, 2^31 rows, 2^57 elements, 2^63.
inline constexpr index_t extent_limits[] = {std::numeric_limits<index_t>::min(),
                                            -4,
                                            -1,
                                            0,
                                            1,
                                            2,
                                            9,
                                            100,
                                            65536,
                                            index_t{1} << 31,
                                            (index_t{1} << 31) + 1,
                                            index_t{1} << 40,
                                            (index_t{1} << 57) - 1,
                                            index_t{1} << 57,
                                            (index_t{1} << 57) + 1,
                                            index_t{1} << 62,
                                            std::numeric_limits<index_t>::max()};
inline constexpr std::size_t extent_limit_count = sizeof extent_limits / sizeof extent_limits[0];

// A random limit, mostly one that calls accept.
inline index_t random_extent(random_stream& random) {
  return random.below(4) == 0 ? extent_limits[random.below(extent_limit_count)]
                              : extent_limits[3 + random.below(6)];
}

inline bool is_countable(int128 a, int128 b, int128 c, int128 d = 1) {
  // The product of three extents below 2^63 may overflow 128 bits.
  constexpr int128 limit = int128{1} << 57;
  int128 product = 1;
  for (int128 extent : {a, b, c, d}) {
    if (extent < 0 || extent > limit) return false;
    product *= extent;
    if (product > limit) return false;
  }
  return true;
}

// Views without memory that start 2^61 bytes apart, so that they do not overlap. Empty and too
// large views have strides of 1, because row-major strides may not fit in 64 bits.
template <class T>
T* far_address(std::uintptr_t address_index) {
  return reinterpret_cast<T*>(address_index << 61);
}
template <class T>
ss::tensor3<T> view_of_nothing(std::uintptr_t address_index, ss::extents3 e) {
  if (e.empty() || !is_countable(e.batch, e.length, e.channels))
    return {far_address<T>(address_index), e, {1, 1, 1}};
  return {far_address<T>(address_index), e};
}
template <class T>
ss::tensor4<T> view_of_nothing(std::uintptr_t address_index, ss::extents4 e) {
  if (e.empty() || !is_countable(e.batch, e.heads, e.length, e.channels))
    return {far_address<T>(address_index), e, {1, 1, 1, 1}};
  return {far_address<T>(address_index), e};
}

template <class T>
ss::tensor_stack<T> view_of_nothing(std::uintptr_t address_index, ss::stack_extents e) {
  if (e.empty() || !is_countable(e.outer, e.batch, e.length, e.channels))
    return {far_address<T>(address_index), e, {1, 1, 1, 1}};
  return {far_address<T>(address_index), e};
}

// Returns the message of a status without the name of the call.
inline std::string without_call_name(ss::status const& status) {
  std::string const message = status.message;
  std::size_t const colon = message.find(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

// Checks that the size of a workspace is rejected exactly if the call is, with the same message.
// Otherwise the call must lack only its workspace. Returns true if there is a size.
inline bool check_same_error(char const* name, ss::status const& size, ss::status const& call) {
  CAPTURE(size.message);
  CAPTURE(call.message);
  if (size) {
    CHECK((call || call.kind == ss::error_kind::workspace));
    return true;
  }
  CHECK(size.kind == call.kind);
  CHECK(without_call_name(size) == without_call_name(call));
  CHECK(std::string(size.message).find(std::string(name) + ".workspace_bytes: ") == 0);
  return false;
}

// True if a size is at least `needed`, or saturated.
inline bool at_least(std::size_t bytes, int128 needed) {
  constexpr std::size_t limit = std::numeric_limits<std::size_t>::max();
  return bytes == limit || static_cast<int128>(bytes) >= needed;
}

}  // namespace support
