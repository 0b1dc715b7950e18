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

enum reduction : std::uint8_t { none, all, any, number };  // instruction::mode

void nothing(warp&, instruction const&, lane_mask) {}

void wait(warp& w, instruction const&, lane_mask active) {
  w.demand_whole(active, "a barrier");
  w.state = progress::at_barrier;
}

void cast_vote(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t const* const p = w.source(n.sources[0]);
  w.vote = 0;
  for (unsigned l = 0; l < warp_lanes; ++l)
    w.vote |= static_cast<lane_mask>(p[l] != 0 ? 1 : 0) << l;
  if (n.transposed) w.vote = ~w.vote;  // !p
  w.vote &= active;
}

void vote_and_wait(warp& w, instruction const& n, lane_mask active) {
  wait(w, n, active);
  cast_vote(w, n, active);
}

struct votes {
  unsigned given = 0, of = 0;

  void add(warp const& w) {
    given += static_cast<unsigned>(__builtin_popcount(w.vote));
    of += static_cast<unsigned>(__builtin_popcount(w.alive));
  }
  std::uint64_t result(std::uint8_t r) const {
    return r == all ? given == of : r == any ? given != 0 : given;
  }
};

void give(warp& w, instruction const& n, votes const& of_all) {
  std::uint64_t* const to = w.result(n.results[0]);
  std::uint64_t const result = of_all.result(n.mode);
  each_lane(w.alive, [&](unsigned l) { to[l] = result; });
}

void vote_alone(warp& w, instruction const& n, lane_mask active) {
  cast_vote(w, n, active);
  votes own;
  own.add(w);
  give(w, n, own);
}

void arrive(warp& w, instruction const&, lane_mask active) {
  w.demand_whole(active, "a cluster's barrier");
  if (w.cluster_arrivals != w.cluster_waits) w.fail("arrives twice, without waiting between");
  w.past.now = w.in->of->tick();
  w.past.arrivals[w.cluster_arrivals++ % 4] = w.past.now;
}

void await_cluster(warp& w, instruction const&, lane_mask active) {
  w.demand_whole(active, "a cluster's barrier");
  if (w.cluster_arrivals == w.cluster_waits) w.fail("waits without having arrived");
  w.state = progress::at_cluster_barrier;
}

void meet(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t const* const masks = w.source(n.sources[0]);
  demand_members(w, masks, active);
  for (lane_mask rest = active; rest != 0;) {
    lane_mask const members = members_of(w, masks, static_cast<unsigned>(__builtin_ctz(rest)));
    rest &= ~members;
    w.past.synchronize_lanes(members == w.alive ? all_lanes : members, w.in->of->tick());
  }
}

void decode_bar(statement& s, instruction& n) {
  if (s.take("warp")) {
    s.expect("sync");
    s.source(n, type::b32);
    s.synchronizes(n);
    n.act = meet;
    return;
  }
  bool const reduces = !s.take("sync");
  if (reduces) {
    s.expect("red");
    std::size_t const r = s.take_one_of({"and", "or", "popc"});
    n.mode = static_cast<std::uint8_t>(r + 1);
    n.t = n.mode == number ? type::u32 : type::pred;
    s.take_type({n.t});
    s.result(n, n.t);
  }
  if (s.integer() != 0) s.fail("a barrier other than 0");
  if (reduces) {
    n.transposed = s.take_not();
    s.source(n, type::pred);
  }
  n.act = reduces ? vote_and_wait : wait;
  s.synchronizes(n);
}

void decode_barrier(statement& s, instruction& n) {
  s.expect("cluster");
  bool const arrives = s.take_one_of({"arrive", "wait"}) == 0;
  s.take(arrives ? "release" : "acquire");
  s.take("aligned");
  n.act = arrives ? arrive : await_cluster;
  if (arrives) s.synchronizes(n);
}

// A machine that runs one instruction after the other needs none.
void decode_membar(statement& s, instruction& n) {
  s.take_one_of({"cta", "gl", "sys"});
  n.act = nothing;
}
void decode_nanosleep(statement& s, instruction& n) {
  s.expect("u32");
  s.source(n, type::u32);
  n.act = nothing;
}

}  // namespace

void reduce_votes(block& b) {
  votes all_votes;
  for (warp const& w : b.warps)
    if (w.state == progress::at_barrier) all_votes.add(w);
  for (warp& w : b.warps)
    if (w.state == progress::at_barrier && w.now->mode != none) give(w, *w.now, all_votes);
}

void remove_synchronization(std::vector<instruction>& code, int number) {
  for (auto n = code.begin(); n != code.end(); ++n) {
    if (n->synchronization != number) continue;
    if (n->act == arrive)
      for (auto after = n; after != code.end(); ++after)
        if (after->act == await_cluster) {
          after->act = nothing;
          break;
        }
    n->act = n->act == vote_and_wait ? vote_alone : nothing;
    return;
  }
}

std::vector<form> barriers() {
  return {{"bar", "9.7.13.1", decode_bar},
          {"barrier", "9.7.13.4", decode_barrier},
          {"membar", "9.7.13.6", decode_membar},
          {"nanosleep", "9.7.19.2", decode_nanosleep}};
}

}  // namespace ptx
