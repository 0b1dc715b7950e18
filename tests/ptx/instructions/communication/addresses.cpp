// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.9.20 "cvta", 9.7.9.24 "mapa".
#include "../../machine/cluster.hpp"
#include "../form.hpp"
#include "../lanes.hpp"
#include "../statement.hpp"
#include "access.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

namespace {

std::uint64_t same(std::uint64_t address) { return address; }

void shared_to_generic(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t const begin = shared_window + w.block->rank * shared_stride;
  std::uint64_t* const to = w.result(n.results[0]);
  std::uint64_t const* const from = w.source(n.sources[0]);
  for_each_lane(active, [&](unsigned l) { to[l] = begin + from[l]; });
}

void require_shared(warp const& w, unsigned lane, std::uint64_t address) {
  if (!in_shared_window(address)) w.fail("not an address of shared memory", lane, address);
}

void generic_to_shared(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t* const to = w.result(n.results[0]);
  std::uint64_t const* const from = w.source(n.sources[0]);
  lanes_in_order(active, [&](unsigned l) {
    require_shared(w, l, from[l]);
    if (block_of_shared(from[l]) != w.block->rank) w.fail("another block's", l, from[l]);
    to[l] = offset_of_shared(from[l]);
  });
}

void map_to_rank(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t* const to = w.result(n.results[0]);
  std::uint64_t const *const from = w.source(n.sources[0]), *const rank = w.source(n.sources[1]);
  std::size_t const blocks = w.block->cluster->blocks.size();
  lanes_in_order(active, [&](unsigned l) {
    require_shared(w, l, from[l]);
    if (rank[l] >= blocks)
      w.fail("block " + std::to_string(rank[l]) + " of a cluster of " + std::to_string(blocks), l,
             from[l]);
    to[l] = shared_window + rank[l] * shared_stride + offset_of_shared(from[l]);
  });
}

void decode_cvta(statement& s, instruction& n) {
  bool const from_generic = s.take("to");
  bool const shared = s.take_one_of({"global", "shared"}) == 1;
  n.t = s.take_type({type::u64});
  s.result(n, n.t);
  s.source(n, n.t);
  n.act = !shared ? lanewise<same> : from_generic ? generic_to_shared : shared_to_generic;
}

void decode_mapa(statement& s, instruction& n) {
  n.t = s.take_type({type::u64});
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, type::u32);
  n.act = map_to_rank;
}

}  // namespace

std::vector<form> addresses() {
  return {{"cvta", "9.7.9.20", decode_cvta}, {"mapa", "9.7.9.24", decode_mapa}};
}

}  // namespace ptx
