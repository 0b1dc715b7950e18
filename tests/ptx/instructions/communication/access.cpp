// SPDX-License-Identifier: Apache-2.0
#include "access.hpp"

#include "../../watch/global_races.hpp"

#include <string>

namespace ptx {

namespace {

std::string describe(std::size_t bytes, access_kind kind) {
  return (kind == access_kind::read ? "reads " : "writes ") + std::to_string(bytes) + " bytes";
}

void require_aligned(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes,
                     access_kind kind) {
  if (address % bytes != 0) w.fail(describe(bytes, kind) + ", misaligned", lane, address);
}

}  // namespace

unsigned char* find_shared(warp& w, block& owner, unsigned lane, std::uint64_t address,
                           std::size_t bytes, access_kind kind) {
  require_aligned(w, lane, address, bytes, kind);
  if (address + bytes > owner.shared.size())
    w.fail(describe(bytes, kind) + " past the end of " + std::to_string(owner.shared.size()) +
               " bytes of shared memory",
           lane, address);
  auto const offset = static_cast<std::size_t>(address);
  if (kind == access_kind::read)
    owner.shared.read(w, lane, offset, bytes);
  else
    owner.shared.write(w, lane, offset, bytes);
  return owner.shared.data() + offset;
}

unsigned char* find_global(warp& w, instruction const& instr, unsigned lane, std::uint64_t address,
                           std::size_t bytes, access_kind kind) {
  require_aligned(w, lane, address, bytes, kind);
  if (!w.block->cluster->last_allocation(instr).contains(address, bytes) &&
      !w.block->cluster->find_allocation(instr, address).contains(address, bytes))
    w.fail(describe(bytes, kind) + " outside of global memory", lane, address);
  if (global_races* const races = w.block->cluster->global_race_detector.get()) {
    if (kind == access_kind::read)
      races->read(w, lane, address, bytes);
    else
      races->write(w, lane, address, bytes);
  }
  return reinterpret_cast<unsigned char*>(address);
}

void find_generic(warp& w, instruction const& instr, lane_addresses const& addresses,
                  lane_mask active, std::size_t bytes, access_kind kind, host_pointers& pointers) {
  std::vector<block>& blocks = w.block->cluster->blocks;
  lane_addresses shared_offsets{};
  lane_mask shared_lanes = 0, remote_lanes = 0;
  for_each_lane_in_order(active, [&](unsigned lane) {
    if (!in_shared_window(addresses[lane])) {
      pointers[lane] = find_global(w, instr, lane, addresses[lane], bytes, kind);
      return;
    }
    unsigned const rank = block_of_shared(addresses[lane]);
    if (rank >= blocks.size())
      w.fail(describe(bytes, kind) + " of shared memory of block " + std::to_string(rank) +
                 " of a cluster of " + std::to_string(blocks.size()),
             lane, addresses[lane]);
    shared_lanes |= lane_mask{1} << lane;
    if (&blocks[rank] != w.block) remote_lanes |= lane_mask{1} << lane;
    shared_offsets[lane] = offset_of_shared(addresses[lane]);
    pointers[lane] = find_shared(w, blocks[rank], lane, shared_offsets[lane], bytes, kind);
  });
  if (!w.block->cluster->launch.options.count_memory) return;
  if (shared_lanes != 0)
    count_shared(w.block->cluster->counts, shared_offsets.data(), bytes, shared_lanes);
  if (remote_lanes != 0)
    count_remote(w.block->cluster->counts, addresses.data(), bytes, remote_lanes);
  if (active != shared_lanes)
    count_global(w.block->cluster->counts, addresses.data(), bytes, active & ~shared_lanes);
}

}  // namespace ptx
