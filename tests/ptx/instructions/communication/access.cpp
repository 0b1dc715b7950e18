// SPDX-License-Identifier: Apache-2.0
#include "access.hpp"

#include "../../watch/global_races.hpp"

#include <string>

namespace ptx {

namespace {

std::string bytes_to(std::size_t bytes, doing what) {
  return (what == doing::read ? "reads " : "writes ") + std::to_string(bytes) + " bytes";
}

void demand_aligned(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes,
                    doing what) {
  if (address % bytes != 0) w.fail(bytes_to(bytes, what) + ", misaligned", lane, address);
}

}  // namespace

unsigned char* find_shared(warp& w, block& of, unsigned lane, std::uint64_t at, std::size_t bytes,
                           doing what) {
  demand_aligned(w, lane, at, bytes, what);
  if (at + bytes > of.shared.size())
    w.fail(bytes_to(bytes, what) + " past the end of " + std::to_string(of.shared.size()) +
               " bytes of shared memory",
           lane, at);
  auto const offset = static_cast<std::size_t>(at);
  if (what == doing::read)
    of.shared.read(w, lane, offset, bytes);
  else
    of.shared.write(w, lane, offset, bytes);
  return of.shared.data() + offset;
}

unsigned char* find_global(warp& w, instruction const& n, unsigned lane, std::uint64_t at,
                           std::size_t bytes, doing what) {
  demand_aligned(w, lane, at, bytes, what);
  if (!w.in->of->last_memory_of(n).holds(at, bytes) && !w.in->of->memory_of(n, at).holds(at, bytes))
    w.fail(bytes_to(bytes, what) + " outside of global memory", lane, at);
  if (global_races* const watched = w.in->of->global.get()) {
    if (what == doing::read)
      watched->read(w, lane, at, bytes);
    else
      watched->write(w, lane, at, bytes);
  }
  return reinterpret_cast<unsigned char*>(at);
}

void find_generic(warp& w, instruction const& n, lane_addresses const& at, lane_mask active,
                  std::size_t bytes, doing what, places& found) {
  std::vector<block>& blocks = w.in->of->blocks;
  lane_addresses shared{};
  lane_mask in_shared = 0, remote = 0;
  in_turn(active, [&](unsigned l) {
    if (!in_shared_window(at[l])) {
      found[l] = find_global(w, n, l, at[l], bytes, what);
      return;
    }
    unsigned const rank = block_of_shared(at[l]);
    if (rank >= blocks.size())
      w.fail(bytes_to(bytes, what) + " of shared memory of block " + std::to_string(rank) +
                 " of a cluster of " + std::to_string(blocks.size()),
             l, at[l]);
    in_shared |= lane_mask{1} << l;
    if (&blocks[rank] != w.in) remote |= lane_mask{1} << l;
    shared[l] = offset_of_shared(at[l]);
    found[l] = find_shared(w, blocks[rank], l, shared[l], bytes, what);
  });
  if (!w.in->of->how.watched.count_memory) return;
  if (in_shared != 0) count_shared(w.in->of->counted, shared.data(), bytes, in_shared);
  if (remote != 0) count_remote(w.in->of->counted, at.data(), bytes, remote);
  if (active != in_shared) count_global(w.in->of->counted, at.data(), bytes, active & ~in_shared);
}

}  // namespace ptx
