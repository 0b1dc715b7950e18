// SPDX-License-Identifier: Apache-2.0
// Translates the lanes' addresses to host pointers. Checks and records every access.
#pragma once

#include "../../machine/cluster.hpp"
#include "../../module/kernel.hpp"
#include "../../watch/traffic.hpp"
#include "../lanes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ptx {

// Calls f(lane) for the active lanes in ascending order, for accesses that may overlap.
template <class F>
inline void for_each_lane_in_order(lane_mask active, F const& f) {
  if (active == all_lanes)
    for (unsigned lane = 0; lane < warp_lanes; ++lane) f(lane);
  else
    for (lane_mask rest = active; rest != 0; rest &= rest - 1)
      f(static_cast<unsigned>(__builtin_ctz(rest)));
}

// Host address per lane.
using host_pointers = std::array<unsigned char*, warp_lanes>;
using lane_addresses = std::array<std::uint64_t, warp_lanes>;

// Return the host address of one lane's access, or fill `pointers` for the lanes of a generic
// access. Throw fault if an access is misaligned, out of bounds, or a race.
unsigned char* find_shared(warp& w, block& owner, unsigned lane, std::uint64_t address,
                           std::size_t bytes, access_kind kind);
unsigned char* find_global(warp& w, instruction const& instr, unsigned lane, std::uint64_t address,
                           std::size_t bytes, access_kind kind);
void find_generic(warp& w, instruction const& instr, lane_addresses const& addresses,
                  lane_mask active, std::size_t bytes, access_kind kind, host_pointers& pointers);

// Find the host addresses of `Bytes` bytes per active lane, at [operand + instruction::offset].

template <std::size_t Bytes, access_kind Kind>
void find_shared(warp& w, instruction const& instr, operand const& address, lane_mask active,
                 host_pointers& pointers) {
  shared_memory& memory = w.block->shared;
  std::uint64_t const* const base = w.source(address);
  auto const offset = static_cast<std::uint64_t>(instr.offset);
  std::array<std::uint32_t, warp_lanes> offsets;
  all_lanes_at_once(
      [&](unsigned lane) { offsets[lane] = static_cast<std::uint32_t>(base[lane] + offset); });
  auto const size = static_cast<std::uint32_t>(memory.size());
  bool const fits = size >= Bytes;
  std::uint32_t const last_valid = fits ? size - static_cast<std::uint32_t>(Bytes) : 0;
  lane_mask invalid = 0;
  if (active == all_lanes)
    all_lanes_at_once([&](unsigned lane) {
      invalid |= offsets[lane] > last_valid || offsets[lane] % Bytes != 0 ? 1u : 0u;
    });
  else
    for_each_lane_in_order(active, [&](unsigned lane) {
      invalid |= offsets[lane] > last_valid || offsets[lane] % Bytes != 0 ? 1u : 0u;
    });
  if (invalid != 0 || !fits)
    for_each_lane_in_order(
        active, [&](unsigned lane) { find_shared(w, *w.block, lane, offsets[lane], Bytes, Kind); });
  if (w.block->cluster->launch.options.count_memory) {
    lane_addresses lane_offsets;
    for (unsigned lane = 0; lane < warp_lanes; ++lane) lane_offsets[lane] = offsets[lane];
    count_shared(w.block->cluster->counts, lane_offsets.data(), Bytes, active);
  }
  memory.record<Bytes, Kind>(w, offsets, active);
  unsigned char* const data = memory.data();
  all_lanes_at_once([&](unsigned lane) { pointers[lane] = data + offsets[lane]; });
}

template <std::size_t Bytes, access_kind Kind>
void find_global(warp& w, instruction const& instr, operand const& address, lane_mask active,
                 host_pointers& pointers) {
  std::uint64_t const* const base = w.source(address);
  auto const offset = static_cast<std::uint64_t>(instr.offset);
  lane_addresses addresses;
  all_lanes_at_once([&](unsigned lane) { addresses[lane] = base[lane] + offset; });
  cluster& cluster = *w.block->cluster;
  if (cluster.launch.options.count_memory)
    count_global(cluster.counts, addresses.data(), Bytes, active);
  // Fast path: all addresses are in the allocation that the instruction accessed last.
  allocation const memory = cluster.last_allocation(instr);
  std::uint64_t const last_valid = memory.bytes - Bytes;
  std::uint64_t invalid = memory.bytes < Bytes || cluster.global_race_detector ? 1u : 0u;
  if (active == all_lanes)
    for (unsigned lane = 0; lane < warp_lanes; ++lane)
      invalid |=
          addresses[lane] - memory.begin > last_valid || addresses[lane] % Bytes != 0 ? 1u : 0u;
  else
    for_each_lane_in_order(active, [&](unsigned lane) {
      invalid |=
          addresses[lane] - memory.begin > last_valid || addresses[lane] % Bytes != 0 ? 1u : 0u;
    });
  if (invalid != 0)
    for_each_lane_in_order(
        active, [&](unsigned lane) { find_global(w, instr, lane, addresses[lane], Bytes, Kind); });
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    pointers[lane] = reinterpret_cast<unsigned char*>(addresses[lane]);
}

template <std::size_t Bytes, access_kind Kind>
void find_generic(warp& w, instruction const& instr, operand const& address, lane_mask active,
                  host_pointers& pointers) {
  std::uint64_t const* const base = w.source(address);
  auto const offset = static_cast<std::uint64_t>(instr.offset);
  lane_addresses addresses;
  all_lanes_at_once([&](unsigned lane) { addresses[lane] = base[lane] + offset; });
  find_generic(w, instr, addresses, active, Bytes, Kind, pointers);
}

}  // namespace ptx
