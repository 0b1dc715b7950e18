// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.9.25.3 "Non-bulk copy". A copy may happen at any time between its start and its wait.
// Here it happens at the start in some clusters, at the wait in others.
#include "../../machine/cluster.hpp"
#include "../../watch/global_races.hpp"
#include "../../watch/traffic.hpp"
#include "../form.hpp"
#include "../statement.hpp"
#include "access.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ptx {

namespace {

void copy_bytes(warp& w, pending_copy const& c) {
  unsigned char* const to = w.block->shared.data() + c.to;
  std::memset(to, 0, c.bytes);
  if (c.source_bytes != 0) std::memcpy(to, reinterpret_cast<void const*>(c.from), c.source_bytes);
}

void start_copy(warp& w, instruction const& instr, lane_mask active) {
  cluster& cluster = *w.block->cluster;
  std::uint64_t const *const to = w.source(instr.sources[0]), *const from =
                                                                  w.source(instr.sources[1]);
  std::uint64_t const* const sizes = instr.source_count > 2 ? w.source(instr.sources[2]) : nullptr;
  std::size_t const bytes = instr.count;
  cluster.counts.async_copies += static_cast<unsigned>(__builtin_popcount(active));
  lane_mask reading_lanes = 0;
  for_each_lane_in_order(active, [&](unsigned lane) {
    auto const offset = static_cast<std::uint32_t>(to[lane]);
    std::uint64_t const source_bytes = sizes != nullptr ? sizes[lane] : bytes;
    if (offset % bytes != 0) w.fail("copies to shared memory, misaligned", lane, offset);
    if (from[lane] % bytes != 0) w.fail("copies from global memory, misaligned", lane, from[lane]);
    if (source_bytes > bytes)
      w.fail("copies " + std::to_string(source_bytes) + " of " + std::to_string(bytes) + " bytes",
             lane, from[lane]);
    if (offset + bytes > w.block->shared.size())
      w.fail("copies past the end of shared memory", lane, offset);
    if (source_bytes != 0) {
      reading_lanes |= lane_mask{1} << lane;
      if (!cluster.last_allocation(instr).contains(from[lane], source_bytes) &&
          !cluster.find_allocation(instr, from[lane]).contains(from[lane], source_bytes))
        w.fail("copies from outside of global memory", lane, from[lane]);
      if (cluster.global_race_detector)
        cluster.global_race_detector->read(w, lane, from[lane], source_bytes);
    }
    w.block->shared.start_copy(w, lane, offset, bytes);
    w.copies.push_back({offset, from[lane], static_cast<std::uint8_t>(bytes),
                        static_cast<std::uint8_t>(source_bytes), static_cast<std::uint8_t>(lane),
                        w.committed_groups[lane]});
    if (!cluster.late_copies) copy_bytes(w, w.copies.back());
  });
  if (!cluster.launch.options.count_memory) return;
  count_shared(cluster.counts, to, bytes, active);
  if (reading_lanes != 0) count_global(cluster.counts, from, bytes, reading_lanes);
}

void commit_group(warp& w, instruction const&, lane_mask active) {
  for_each_lane_in_order(active, [&](unsigned lane) { ++w.committed_groups[lane]; });
}

template <class F>
void complete_copies(warp& w, lane_mask active, F const& is_complete) {
  auto const pending_end = std::stable_partition(
      w.copies.begin(), w.copies.end(),
      [&](pending_copy const& c) { return (active >> c.lane & 1) == 0 || !is_complete(c); });
  for (auto c = pending_end; c != w.copies.end(); ++c) {
    if (w.block->cluster->late_copies) copy_bytes(w, *c);
    w.block->shared.complete_copy(w, c->lane, c->to, c->bytes);
  }
  w.copies.erase(pending_end, w.copies.end());
}

void wait_all(warp& w, instruction const&, lane_mask active) {
  complete_copies(w, active, [](pending_copy const&) { return true; });
}
// Waits for all groups except the last instruction::offset groups.
void wait_group(warp& w, instruction const& instr, lane_mask active) {
  complete_copies(w, active, [&](pending_copy const& c) {
    return c.group + static_cast<std::uint64_t>(instr.offset) < w.committed_groups[c.lane];
  });
}

// In the order of the modifiers in decode_cp().
enum cp_variant : std::size_t { copy_ca, copy_cg, commit, wait_for_groups, wait_for_all };

void decode_cp(statement& s, instruction& instr) {
  s.expect("async");
  std::size_t const variant = s.take_one_of({"ca", "cg", "commit_group", "wait_group", "wait_all"});
  switch (variant) {
    case copy_ca:
    case copy_cg: {
      if (!s.take("shared::cta")) s.expect("shared");
      s.expect("global");
      if (s.take_address(instr, state_space::shared) != 0 ||
          s.take_address(instr, state_space::global) != 0)
        s.fail("a copy with an address offset");
      std::int64_t const bytes = s.take_integer();
      if (bytes != 16 && (variant == copy_cg || (bytes != 8 && bytes != 4)))
        s.fail("an unsupported size of a copy");
      instr.count = static_cast<std::uint8_t>(bytes);
      instr.act = start_copy;
      if (s.has_more()) s.take_source(instr, type::u32);
      break;
    }
    case commit:
      instr.act = commit_group;
      break;
    case wait_for_groups:
      instr.offset = s.take_integer();
      instr.act = wait_group;
      s.assign_synchronization(instr);
      break;
    default:
      instr.act = wait_all;
      s.assign_synchronization(instr);
  }
}

}  // namespace

std::vector<opcode_info> asynchronous_copies() { return {{"cp", "9.7.9.25.3", decode_cp}}; }

}  // namespace ptx
