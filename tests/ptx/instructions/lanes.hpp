// SPDX-License-Identifier: Apache-2.0
// Builds actions from functions of one lane. Function and type are selected when a statement is
// decoded, so that an action is a loop over 32 lanes that a compiler can vectorize.
#pragma once

#include "../machine/warp.hpp"
#include "../module/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ptx {

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Converts the low bits of a register's word to a value. bool represents a predicate.
template <class T>
T narrow(std::uint64_t word) {
  if constexpr (std::is_same_v<T, bool>)
    return word != 0;
  else if constexpr (std::is_same_v<T, float>)
    return bits_as<float>(static_cast<std::uint32_t>(word));
  else if constexpr (std::is_same_v<T, double>)
    return bits_as<double>(word);
  else
    return static_cast<T>(word);
}

// Zero-extends a value to a register's word.
template <class T>
std::uint64_t widen(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value;
  else if constexpr (std::is_same_v<T, float>)
    return bits_as<std::uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return bits_as<std::uint64_t>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

// Calls f(lane) for all 32 lanes in any order. No lane may write what another lane reads.
template <class F>
void all_lanes_at_once(F f) {
#if !defined(__clang__)  // clang checks for dependencies at run time
#  pragma GCC ivdep
#endif
  for (unsigned lane = 0; lane < warp_lanes; ++lane) f(lane);
}

// Calls f(lane) for each active lane.
template <class F>
void for_each_lane(lane_mask active, F f) {
  if (active == all_lanes) return all_lanes_at_once(f);
  for (lane_mask rest = active; rest != 0; rest &= rest - 1)
    f(static_cast<unsigned>(__builtin_ctz(rest)));
}

// lanewise<f>: an action that computes one result per lane from the sources of that lane. f has the
// signature `R f(A, B, ...)` and must be defined for all values.
template <auto f>
struct lanewise_of;
template <class R, class... A, R (*f)(A...)>
struct lanewise_of<f> {
  static constexpr std::size_t source_count = sizeof...(A);

  static void act(warp& w, instruction const& instr, lane_mask active) {
    run(w, instr, active, std::index_sequence_for<A...>{});
  }

 private:
  template <std::size_t... I>
  static void run(warp& w, instruction const& instr, lane_mask active, std::index_sequence<I...>) {
    std::uint64_t* const to = w.result(instr.results[0]);
    std::uint64_t const* const from[] = {w.source(instr.sources[I])...};
    if (active == all_lanes)
      return all_lanes_at_once(
          [&](unsigned lane) { to[lane] = widen(f(narrow<A>(from[I][lane])...)); });
    // Computing inactive lanes too is cheaper than a loop over the active ones.
    std::uint64_t results[warp_lanes];
    all_lanes_at_once(
        [&](unsigned lane) { results[lane] = widen(f(narrow<A>(from[I][lane])...)); });
    all_lanes_at_once([&](unsigned lane) {
      std::uint64_t const active_mask = 0 - std::uint64_t{(active >> lane) & 1};
      to[lane] = (results[lane] & active_mask) | (to[lane] & ~active_mask);
    });
  }
};
template <auto f>
inline constexpr action lanewise = lanewise_of<f>::act;

// Calls f(T{}) with the C++ type of an integer type; b8 to b64 are unsigned.
template <class F>
action with_integer(type t, F f) {
  switch (t) {
    case type::b8:
    case type::u8:
      return f(std::uint8_t{});
    case type::b16:
    case type::u16:
      return f(std::uint16_t{});
    case type::b32:
    case type::u32:
      return f(std::uint32_t{});
    case type::b64:
    case type::u64:
      return f(std::uint64_t{});
    case type::s8:
      return f(std::int8_t{});
    case type::s16:
      return f(std::int16_t{});
    case type::s32:
      return f(std::int32_t{});
    case type::s64:
      return f(std::int64_t{});
    default:
      return nullptr;
  }
}

}  // namespace ptx
