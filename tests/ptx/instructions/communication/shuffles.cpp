// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.9.6 "shfl.sync", 9.7.13.9 "vote.sync".
#include "../../machine/cluster.hpp"
#include "../form.hpp"
#include "../lanes.hpp"
#include "../statement.hpp"
#include "members.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace ptx {

namespace {

enum class shuffle_mode : std::uint8_t { up, down, butterfly, index };

// The lane that a lane reads, computed from operands b and c. `in_segment` is true if both lie in
// the same segment.
struct source_lane {
  unsigned lane;
  bool in_segment;
};
template <shuffle_mode mode>
source_lane select_lane(unsigned lane, unsigned b, unsigned c) {
  unsigned const offset = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned const last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  switch (mode) {
    case shuffle_mode::up:
      // Here `last` is the first lane of the segment. The first comparison rejects lanes before 0,
      // which wrap around.
      return {lane - offset, lane >= offset && lane - offset >= last};
    case shuffle_mode::down:
      return {lane + offset, lane + offset <= last};
    case shuffle_mode::butterfly:
      return {lane ^ offset, (lane ^ offset) <= last};
    default:
      return {first | (offset & ~segment), (first | (offset & ~segment)) <= last};
  }
}

template <shuffle_mode mode>
void shuffle(warp& w, instruction const& instr, lane_mask active) {
  ++w.block->cluster->counts.shuffles;
  std::uint64_t const *const b = w.source(instr.sources[1]), *const c = w.source(instr.sources[2]),
                             *const member_masks = w.source(instr.sources[3]);
  require_members(w, member_masks, active);
  std::array<std::uint64_t, warp_lanes> values;
  std::copy_n(w.source(instr.sources[0]), warp_lanes, values.begin());
  std::array<source_lane, warp_lanes> selected;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    selected[lane] =
        select_lane<mode>(lane, static_cast<unsigned>(b[lane]), static_cast<unsigned>(c[lane]));
    if (!selected[lane].in_segment) selected[lane].lane = lane;
  }
  std::uint64_t* const result_lanes = w.result(instr.results[0]);
  for_each_lane(active, [&](unsigned lane) {
    unsigned const source = selected[lane].lane;
    if ((members_of(w, member_masks, lane) >> source & 1) == 0)
      w.fail("lane " + std::to_string(lane) + " reads lane " + std::to_string(source) +
             ", which takes no part");
    result_lanes[lane] = values[source];
  });
  if (instr.result_count == 1) return;
  std::uint64_t* const in_segment = w.result(instr.results[1]);
  for_each_lane(active, [&](unsigned lane) { in_segment[lane] = selected[lane].in_segment; });
}

void decode_shfl(statement& s, instruction& instr) {
  s.expect("sync");
  action const actions[] = {shuffle<shuffle_mode::up>, shuffle<shuffle_mode::down>,
                            shuffle<shuffle_mode::butterfly>, shuffle<shuffle_mode::index>};
  instr.act = actions[s.take_one_of({"up", "down", "bfly", "idx"})];
  s.take_type({type::b32});
  s.take_result(instr, type::b32);
  if (s.take_bar()) s.take_result(instr, type::pred);
  for (int i = 0; i < 4; ++i) s.take_source(instr, type::b32);
}

enum class vote_mode : std::uint8_t { all, any, uniform, ballot };

template <vote_mode mode>
void vote(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t const *const p = w.source(instr.sources[0]), *const member_masks =
                                                                 w.source(instr.sources[1]);
  require_members(w, member_masks, active);
  lane_mask votes = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    votes |= static_cast<lane_mask>((p[lane] != 0) != instr.vote_negated ? 1 : 0) << lane;  // !p
  std::uint64_t* const result_lanes = w.result(instr.results[0]);
  for_each_lane(active, [&](unsigned lane) {
    lane_mask const members = members_of(w, member_masks, lane), member_votes = votes & members;
    result_lanes[lane] = mode == vote_mode::all       ? member_votes == members
                         : mode == vote_mode::any     ? member_votes != 0
                         : mode == vote_mode::uniform ? member_votes == 0 || member_votes == members
                                                      : member_votes;
  });
}

void decode_vote(statement& s, instruction& instr) {
  s.expect("sync");
  action const actions[] = {vote<vote_mode::all>, vote<vote_mode::any>, vote<vote_mode::uniform>,
                            vote<vote_mode::ballot>};
  std::size_t const mode_index = s.take_one_of({"all", "any", "uni", "ballot"});
  instr.act = actions[mode_index];
  instr.result_type =
      mode_index == static_cast<std::size_t>(vote_mode::ballot) ? type::b32 : type::pred;
  s.take_type({instr.result_type});
  s.take_result(instr, instr.result_type);
  instr.vote_negated = s.take_not();
  s.take_source(instr, type::pred);
  s.take_source(instr, type::b32);
}

}  // namespace

std::vector<opcode_info> shuffles() {
  return {{"shfl", "9.7.9.6", decode_shfl}, {"vote", "9.7.13.9", decode_vote}};
}

}  // namespace ptx
