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

std::uint64_t identity(std::uint64_t address) { return address; }

void shared_to_generic(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t const window_begin = shared_window + w.block->rank * shared_stride;
  std::uint64_t* const to = w.result(instr.results[0]);
  std::uint64_t const* const from = w.source(instr.sources[0]);
  for_each_lane(active, [&](unsigned lane) { to[lane] = window_begin + from[lane]; });
}

void require_shared(warp const& w, unsigned lane, std::uint64_t address) {
  if (!in_shared_window(address)) w.fail("not an address of shared memory", lane, address);
}

void generic_to_shared(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t* const to = w.result(instr.results[0]);
  std::uint64_t const* const from = w.source(instr.sources[0]);
  for_each_lane_in_order(active, [&](unsigned lane) {
    require_shared(w, lane, from[lane]);
    if (block_of_shared(from[lane]) != w.block->rank) w.fail("another block's", lane, from[lane]);
    to[lane] = offset_of_shared(from[lane]);
  });
}

void map_to_rank(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t* const to = w.result(instr.results[0]);
  std::uint64_t const *const from = w.source(instr.sources[0]), *const rank =
                                                                    w.source(instr.sources[1]);
  std::size_t const blocks = w.block->cluster->blocks.size();
  for_each_lane_in_order(active, [&](unsigned lane) {
    require_shared(w, lane, from[lane]);
    if (rank[lane] >= blocks)
      w.fail("block " + std::to_string(rank[lane]) + " of a cluster of " + std::to_string(blocks),
             lane, from[lane]);
    to[lane] = shared_window + rank[lane] * shared_stride + offset_of_shared(from[lane]);
  });
}

void decode_cvta(statement& s, instruction& instr) {
  bool const from_generic = s.take("to");
  bool const is_shared = s.take_one_of({"global", "shared"}) == 1;
  instr.result_type = s.take_type({type::u64});
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  instr.act = !is_shared     ? lanewise<identity>
              : from_generic ? generic_to_shared
                             : shared_to_generic;
}

void decode_mapa(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::u64});
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, type::u32);
  instr.act = map_to_rank;
}

}  // namespace

std::vector<opcode_info> addresses() {
  return {{"cvta", "9.7.9.20", decode_cvta}, {"mapa", "9.7.9.24", decode_mapa}};
}

}  // namespace ptx
