// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.13 "Parallel Synchronization and Communication Instructions": barriers, fences.
#include "barriers.hpp"
#include "../../machine/cluster.hpp"
#include "../form.hpp"
#include "../lanes.hpp"
#include "../statement.hpp"
#include "members.hpp"

#include <cstdint>
#include <vector>

namespace ptx {

namespace {

enum reduction : std::uint8_t { none, all, any, count };  // instruction::mode

void do_nothing(warp&, instruction const&, lane_mask) {}

void wait_at_barrier(warp& w, instruction const&, lane_mask active) {
  w.require_converged(active, "a barrier");
  w.state = progress::at_barrier;
}

void set_vote(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t const* const p = w.source(instr.sources[0]);
  w.vote = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    w.vote |= static_cast<lane_mask>(p[lane] != 0 ? 1 : 0) << lane;
  if (instr.vote_negated) w.vote = ~w.vote;  // !p
  w.vote &= active;
}

void vote_and_wait(warp& w, instruction const& instr, lane_mask active) {
  wait_at_barrier(w, instr, active);
  set_vote(w, instr, active);
}

struct votes {
  unsigned true_votes = 0, voters = 0;

  void add(warp const& w) {
    true_votes += static_cast<unsigned>(__builtin_popcount(w.vote));
    voters += static_cast<unsigned>(__builtin_popcount(w.alive));
  }
  std::uint64_t result(std::uint8_t reduction_kind) const {
    return reduction_kind == all   ? true_votes == voters
           : reduction_kind == any ? true_votes != 0
                                   : true_votes;
  }
};

void write_result(warp& w, instruction const& instr, votes const& block_votes) {
  std::uint64_t* const result_lanes = w.result(instr.results[0]);
  std::uint64_t const result = block_votes.result(instr.mode);
  for_each_lane(w.alive, [&](unsigned lane) { result_lanes[lane] = result; });
}

void vote_in_warp(warp& w, instruction const& instr, lane_mask active) {
  set_vote(w, instr, active);
  votes warp_votes;
  warp_votes.add(w);
  write_result(w, instr, warp_votes);
}

void arrive(warp& w, instruction const&, lane_mask active) {
  w.require_converged(active, "a cluster's barrier");
  if (w.cluster_arrivals != w.cluster_waits) w.fail("arrives twice, without waiting between");
  w.sync.last_sync = w.block->cluster->tick();
  w.sync.arrivals[w.cluster_arrivals++ % 4] = w.sync.last_sync;
}

void wait_for_cluster(warp& w, instruction const&, lane_mask active) {
  w.require_converged(active, "a cluster's barrier");
  if (w.cluster_arrivals == w.cluster_waits) w.fail("waits without having arrived");
  w.state = progress::at_cluster_barrier;
}

void synchronize_warp(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t const* const member_masks = w.source(instr.sources[0]);
  require_members(w, member_masks, active);
  for (lane_mask rest = active; rest != 0;) {
    lane_mask const members =
        members_of(w, member_masks, static_cast<unsigned>(__builtin_ctz(rest)));
    rest &= ~members;
    w.sync.synchronize_lanes(members == w.alive ? all_lanes : members, w.block->cluster->tick());
  }
}

void decode_bar(statement& s, instruction& instr) {
  if (s.take("warp")) {
    s.expect("sync");
    s.take_source(instr, type::b32);
    s.assign_synchronization(instr);
    instr.act = synchronize_warp;
    return;
  }
  bool const is_reducing = !s.take("sync");
  if (is_reducing) {
    s.expect("red");
    std::size_t const reduction_kind = s.take_one_of({"and", "or", "popc"});
    instr.mode = static_cast<std::uint8_t>(reduction_kind + 1);
    instr.result_type = instr.mode == count ? type::u32 : type::pred;
    s.take_type({instr.result_type});
    s.take_result(instr, instr.result_type);
  }
  if (s.take_integer() != 0) s.fail("a barrier other than 0");
  if (is_reducing) {
    instr.vote_negated = s.take_not();
    s.take_source(instr, type::pred);
  }
  instr.act = is_reducing ? vote_and_wait : wait_at_barrier;
  s.assign_synchronization(instr);
}

void decode_barrier(statement& s, instruction& instr) {
  s.expect("cluster");
  bool const is_arrival = s.take_one_of({"arrive", "wait"}) == 0;
  s.take(is_arrival ? "release" : "acquire");
  s.take("aligned");
  instr.act = is_arrival ? arrive : wait_for_cluster;
  if (is_arrival) s.assign_synchronization(instr);
}

// Memory fences have no effect, since the machine executes instructions sequentially.
void decode_membar(statement& s, instruction& instr) {
  s.take_one_of({"cta", "gl", "sys"});
  instr.act = do_nothing;
}
void decode_nanosleep(statement& s, instruction& instr) {
  s.expect("u32");
  s.take_source(instr, type::u32);
  instr.act = do_nothing;
}

}  // namespace

void reduce_votes(block& b) {
  votes block_votes;
  for (warp const& w : b.warps)
    if (w.state == progress::at_barrier) block_votes.add(w);
  for (warp& w : b.warps)
    if (w.state == progress::at_barrier && w.current->mode != none)
      write_result(w, *w.current, block_votes);
}

void remove_synchronization(std::vector<instruction>& code, int index) {
  for (auto instr = code.begin(); instr != code.end(); ++instr) {
    if (instr->synchronization != index) continue;
    if (instr->act == arrive)
      for (auto next = instr; next != code.end(); ++next)
        if (next->act == wait_for_cluster) {
          next->act = do_nothing;
          break;
        }
    instr->act = instr->act == vote_and_wait ? vote_in_warp : do_nothing;
    return;
  }
}

std::vector<opcode_info> barriers() {
  return {{"bar", "9.7.13.1", decode_bar},
          {"barrier", "9.7.13.4", decode_barrier},
          {"membar", "9.7.13.6", decode_membar},
          {"nanosleep", "9.7.19.2", decode_nanosleep}};
}

}  // namespace ptx
