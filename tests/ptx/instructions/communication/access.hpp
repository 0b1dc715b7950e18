// SPDX-License-Identifier: Apache-2.0
// How instructions reach memory: the bytes behind an address of each lane, checked and noted.
#pragma once

#include "../../machine/cluster.hpp"
#include "../../module/kernel.hpp"
#include "../../watch/traffic.hpp"
#include "../lanes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ptx {

// f(lane) for the active lanes, one after the other, where one may touch what another touched.
template <class F>
inline void in_turn(lane_mask active, F const& f) {
  if (active == all_lanes)
    for (unsigned l = 0; l < warp_lanes; ++l) f(l);
  else
    for (lane_mask rest = active; rest != 0; rest &= rest - 1)
      f(static_cast<unsigned>(__builtin_ctz(rest)));
}

// Where the bytes of each lane lie on the host.
using places = std::array<unsigned char*, warp_lanes>;
using lane_addresses = std::array<std::uint64_t, warp_lanes>;

// One lane's bytes, whatever is to be said of them. They throw fault where these are misaligned,
// outside of memory, or watched and found wrong.
unsigned char* find_shared(warp& w, block& of, unsigned lane, std::uint64_t at, std::size_t bytes,
                           doing what);
unsigned char* find_global(warp& w, instruction const& n, unsigned lane, std::uint64_t at,
                           std::size_t bytes, doing what);
void find_generic(warp& w, instruction const& n, lane_addresses const& at, lane_mask active,
                  std::size_t bytes, doing what, places& found);

// The bytes of all active lanes, `Bytes` of them at [operand + instruction::offset].

template <std::size_t Bytes, doing What>
void find_shared(warp& w, instruction const& n, operand const& address, lane_mask active,
                 places& found) {
  shared_memory& memory = w.in->shared;
  std::uint64_t const* const base = w.source(address);
  auto const offset = static_cast<std::uint64_t>(n.offset);
  std::array<std::uint32_t, warp_lanes> at;
  all_lanes_at_once([&](unsigned l) { at[l] = static_cast<std::uint32_t>(base[l] + offset); });
  auto const size = static_cast<std::uint32_t>(memory.size());
  bool const room = size >= Bytes;
  std::uint32_t const last = room ? size - static_cast<std::uint32_t>(Bytes) : 0;
  lane_mask wrong = 0;
  if (active == all_lanes)
    all_lanes_at_once([&](unsigned l) { wrong |= at[l] > last || at[l] % Bytes != 0 ? 1u : 0u; });
  else
    in_turn(active, [&](unsigned l) { wrong |= at[l] > last || at[l] % Bytes != 0 ? 1u : 0u; });
  if (wrong != 0 || !room)
    in_turn(active, [&](unsigned l) { find_shared(w, *w.in, l, at[l], Bytes, What); });
  if (w.in->of->how.watched.count_memory) {
    lane_addresses wide;
    for (unsigned l = 0; l < warp_lanes; ++l) wide[l] = at[l];
    count_shared(w.in->of->counted, wide.data(), Bytes, active);
  }
  memory.note<Bytes, What>(w, at, active);
  unsigned char* const data = memory.data();
  all_lanes_at_once([&](unsigned l) { found[l] = data + at[l]; });
}

template <std::size_t Bytes, doing What>
void find_global(warp& w, instruction const& n, operand const& address, lane_mask active,
                 places& found) {
  std::uint64_t const* const base = w.source(address);
  auto const offset = static_cast<std::uint64_t>(n.offset);
  lane_addresses at;
  all_lanes_at_once([&](unsigned l) { at[l] = base[l] + offset; });
  cluster& all = *w.in->of;
  if (all.how.watched.count_memory) count_global(all.counted, at.data(), Bytes, active);
  // Mostly all lie in the allocation that the instruction went to before.
  allocation const memory = all.last_memory_of(n);
  std::uint64_t const last = memory.bytes - Bytes;
  std::uint64_t wrong = memory.bytes < Bytes || all.global ? 1u : 0u;
  if (active == all_lanes)
    for (unsigned l = 0; l < warp_lanes; ++l)
      wrong |= at[l] - memory.begin > last || at[l] % Bytes != 0 ? 1u : 0u;
  else
    in_turn(active, [&](unsigned l) {
      wrong |= at[l] - memory.begin > last || at[l] % Bytes != 0 ? 1u : 0u;
    });
  if (wrong != 0) in_turn(active, [&](unsigned l) { find_global(w, n, l, at[l], Bytes, What); });
  for (unsigned l = 0; l < warp_lanes; ++l) found[l] = reinterpret_cast<unsigned char*>(at[l]);
}

template <std::size_t Bytes, doing What>
void find_generic(warp& w, instruction const& n, operand const& address, lane_mask active,
                  places& found) {
  std::uint64_t const* const base = w.source(address);
  auto const offset = static_cast<std::uint64_t>(n.offset);
  lane_addresses at;
  all_lanes_at_once([&](unsigned l) { at[l] = base[l] + offset; });
  find_generic(w, n, at, active, Bytes, What, found);
}

}  // namespace ptx
