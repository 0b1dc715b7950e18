// SPDX-License-Identifier: Apache-2.0
// Actions made of functions of one lane. Which function it is, and of which type, is decided when a
// statement is decoded; running it is a loop over 32 lanes that a compiler can vectorize.
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

// The low bits of a register's word as a value. bool is a predicate.
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

// A value as a register's word, above which the bits are zero.
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

// f(lane) for all 32 lanes, in an order that does not matter: no lane writes what another reads.
template <class F>
void all_lanes_at_once(F f) {
#if !defined(__clang__)  // which finds out while it runs
#  pragma GCC ivdep
#endif
  for (unsigned l = 0; l < warp_lanes; ++l) f(l);
}

// f(lane) for each active lane.
template <class F>
void each_lane(lane_mask active, F f) {
  if (active == all_lanes) return all_lanes_at_once(f);
  for (lane_mask rest = active; rest != 0; rest &= rest - 1)
    f(static_cast<unsigned>(__builtin_ctz(rest)));
}

// The action that computes its one result of a lane from the sources of that lane: lanewise<f>
// where f is `R f(A, B, ...)`, which any values may be given to.
template <auto f>
struct lanewise_of;
template <class R, class... A, R (*f)(A...)>
struct lanewise_of<f> {
  static constexpr std::size_t sources = sizeof...(A);

  static void act(warp& w, instruction const& n, lane_mask active) {
    run(w, n, active, std::index_sequence_for<A...>{});
  }

 private:
  template <std::size_t... I>
  static void run(warp& w, instruction const& n, lane_mask active, std::index_sequence<I...>) {
    std::uint64_t* const to = w.result(n.results[0]);
    std::uint64_t const* const from[] = {w.source(n.sources[I])...};
    if (active == all_lanes)
      return all_lanes_at_once([&](unsigned l) { to[l] = widen(f(narrow<A>(from[I][l])...)); });
    // To compute what is not wanted is cheaper than to go from lane to lane.
    std::uint64_t made[warp_lanes];
    all_lanes_at_once([&](unsigned l) { made[l] = widen(f(narrow<A>(from[I][l])...)); });
    all_lanes_at_once([&](unsigned l) {
      std::uint64_t const wanted = 0 - std::uint64_t{(active >> l) & 1};
      to[l] = (made[l] & wanted) | (to[l] & ~wanted);
    });
  }
};
template <auto f>
inline constexpr action lanewise = lanewise_of<f>::act;

// f(T{}) with the C++ type of an integer type; b8 to b64 are unsigned.
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
