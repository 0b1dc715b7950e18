// SPDX-License-Identifier: Apache-2.0
#include "specials.hpp"

#include "cluster.hpp"

#include <cstring>

namespace ptx {

namespace {

extent const& block_extent(warp const& w) { return w.block->cluster->launch.block; }
extent const& grid_extent(warp const& w) { return w.block->cluster->launch.grid; }
unsigned thread_in_block(warp const& w, unsigned lane) { return w.rank * warp_lanes + lane; }

struct named_special {
  char const* name;
  special value;
};
constexpr named_special named_specials[] = {
    {"%tid.x",
     [](warp const& w, unsigned lane) { return thread_in_block(w, lane) % block_extent(w).x; }},
    {"%tid.y",
     [](warp const& w, unsigned lane) {
       return thread_in_block(w, lane) / block_extent(w).x % block_extent(w).y;
     }},
    {"%tid.z",
     [](warp const& w, unsigned lane) {
       return thread_in_block(w, lane) / block_extent(w).x / block_extent(w).y;
     }},
    {"%ntid.x", [](warp const& w, unsigned) { return block_extent(w).x; }},
    {"%ntid.y", [](warp const& w, unsigned) { return block_extent(w).y; }},
    {"%ntid.z", [](warp const& w, unsigned) { return block_extent(w).z; }},
    {"%laneid", [](warp const&, unsigned lane) { return lane; }},
    {"%lanemask_eq", [](warp const&, unsigned lane) { return 1u << lane; }},
    {"%lanemask_lt", [](warp const&, unsigned lane) { return (1u << lane) - 1; }},
    {"%lanemask_le", [](warp const&, unsigned lane) { return (2u << lane) - 1; }},
    {"%lanemask_gt", [](warp const&, unsigned lane) { return ~((2u << lane) - 1); }},
    {"%lanemask_ge", [](warp const&, unsigned lane) { return ~((1u << lane) - 1); }},
    {"%ctaid.x", [](warp const& w, unsigned) { return w.block->index.x; }},
    {"%ctaid.y", [](warp const& w, unsigned) { return w.block->index.y; }},
    {"%ctaid.z", [](warp const& w, unsigned) { return w.block->index.z; }},
    {"%nctaid.x", [](warp const& w, unsigned) { return grid_extent(w).x; }},
    {"%nctaid.y", [](warp const& w, unsigned) { return grid_extent(w).y; }},
    {"%nctaid.z", [](warp const& w, unsigned) { return grid_extent(w).z; }},
    {"%cluster_ctarank", [](warp const& w, unsigned) { return w.block->rank; }},
    {"%cluster_nctarank", [](warp const& w, unsigned) { return w.block->cluster->launch.cluster; }},
};

}  // namespace

special special_register(std::string_view name) {
  for (named_special const& s : named_specials)
    if (name == s.name) return s.value;
  return nullptr;
}

}  // namespace ptx
