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

enum class from : std::uint8_t { up, down, butterfly, index };

// Which lane a lane reads, and whether it lies in the lane's segment, as the operands b and c say.
struct choice {
  unsigned lane;
  bool inside;
};
template <from how>
choice choose(unsigned lane, unsigned b, unsigned c) {
  unsigned const offset = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned const most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  switch (how) {
    case from::up:
      // Here the clamp is the least lane. Modulo 2^32, a lane before 0 is not below it.
      return {lane - offset, lane >= offset && lane - offset >= most};
    case from::down:
      return {lane + offset, lane + offset <= most};
    case from::butterfly:
      return {lane ^ offset, (lane ^ offset) <= most};
    default:
      return {least | (offset & ~segment), (least | (offset & ~segment)) <= most};
  }
}

template <from how>
void shuffle(warp& w, instruction const& n, lane_mask active) {
  ++w.in->of->counted.shuffles;
  std::uint64_t const *const b = w.source(n.sources[1]), *const c = w.source(n.sources[2]),
                             *const masks = w.source(n.sources[3]);
  demand_members(w, masks, active);
  std::array<std::uint64_t, warp_lanes> values;
  std::copy_n(w.source(n.sources[0]), warp_lanes, values.begin());
  std::array<choice, warp_lanes> chosen;
  for (unsigned l = 0; l < warp_lanes; ++l) {
    chosen[l] = choose<how>(l, static_cast<unsigned>(b[l]), static_cast<unsigned>(c[l]));
    if (!chosen[l].inside) chosen[l].lane = l;
  }
  std::uint64_t* const to = w.result(n.results[0]);
  each_lane(active, [&](unsigned l) {
    unsigned const source = chosen[l].lane;
    if ((members_of(w, masks, l) >> source & 1) == 0)
      w.fail("lane " + std::to_string(l) + " reads lane " + std::to_string(source) +
             ", which takes no part");
    to[l] = values[source];
  });
  if (n.result_count == 1) return;
  std::uint64_t* const inside = w.result(n.results[1]);
  each_lane(active, [&](unsigned l) { inside[l] = chosen[l].inside; });
}

void decode_shfl(statement& s, instruction& n) {
  s.expect("sync");
  action const actions[] = {shuffle<from::up>, shuffle<from::down>, shuffle<from::butterfly>,
                            shuffle<from::index>};
  n.act = actions[s.take_one_of({"up", "down", "bfly", "idx"})];
  s.take_type({type::b32});
  s.result(n, type::b32);
  if (s.take_bar()) s.result(n, type::pred);
  for (int i = 0; i < 4; ++i) s.source(n, type::b32);
}

enum class question : std::uint8_t { all, any, uniform, ballot };

template <question q>
void vote(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t const *const p = w.source(n.sources[0]), *const masks = w.source(n.sources[1]);
  demand_members(w, masks, active);
  lane_mask yes = 0;
  for (unsigned l = 0; l < warp_lanes; ++l)
    yes |= static_cast<lane_mask>((p[l] != 0) != n.transposed ? 1 : 0) << l;  // !p
  std::uint64_t* const to = w.result(n.results[0]);
  each_lane(active, [&](unsigned l) {
    lane_mask const members = members_of(w, masks, l), of = yes & members;
    to[l] = q == question::all       ? of == members
            : q == question::any     ? of != 0
            : q == question::uniform ? of == 0 || of == members
                                     : of;
  });
}

void decode_vote(statement& s, instruction& n) {
  s.expect("sync");
  action const actions[] = {vote<question::all>, vote<question::any>, vote<question::uniform>,
                            vote<question::ballot>};
  std::size_t const q = s.take_one_of({"all", "any", "uni", "ballot"});
  n.act = actions[q];
  n.t = q == 3 ? type::b32 : type::pred;
  s.take_type({n.t});
  s.result(n, n.t);
  n.transposed = s.take_not();
  s.source(n, type::pred);
  s.source(n, type::b32);
}

}  // namespace

std::vector<form> shuffles() {
  return {{"shfl", "9.7.9.6", decode_shfl}, {"vote", "9.7.13.9", decode_vote}};
}

}  // namespace ptx
