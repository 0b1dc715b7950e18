// SPDX-License-Identifier: Apache-2.0
#include "specials.hpp"

#include "cluster.hpp"

#include <cstring>

namespace ptx {

namespace {

extent const& threads(warp const& w) { return w.in->of->how.block; }
extent const& blocks(warp const& w) { return w.in->of->how.grid; }
unsigned thread(warp const& w, unsigned lane) { return w.number * warp_lanes + lane; }

struct row {
  char const* name;
  special value;
};
constexpr row rows[] = {
    {"%tid.x", [](warp const& w, unsigned l) { return thread(w, l) % threads(w).x; }},
    {"%tid.y",
     [](warp const& w, unsigned l) { return thread(w, l) / threads(w).x % threads(w).y; }},
    {"%tid.z",
     [](warp const& w, unsigned l) { return thread(w, l) / threads(w).x / threads(w).y; }},
    {"%ntid.x", [](warp const& w, unsigned) { return threads(w).x; }},
    {"%ntid.y", [](warp const& w, unsigned) { return threads(w).y; }},
    {"%ntid.z", [](warp const& w, unsigned) { return threads(w).z; }},
    {"%laneid", [](warp const&, unsigned l) { return l; }},
    {"%lanemask_eq", [](warp const&, unsigned l) { return 1u << l; }},
    {"%lanemask_lt", [](warp const&, unsigned l) { return (1u << l) - 1; }},
    {"%lanemask_le", [](warp const&, unsigned l) { return (2u << l) - 1; }},
    {"%lanemask_gt", [](warp const&, unsigned l) { return ~((2u << l) - 1); }},
    {"%lanemask_ge", [](warp const&, unsigned l) { return ~((1u << l) - 1); }},
    {"%ctaid.x", [](warp const& w, unsigned) { return w.in->index.x; }},
    {"%ctaid.y", [](warp const& w, unsigned) { return w.in->index.y; }},
    {"%ctaid.z", [](warp const& w, unsigned) { return w.in->index.z; }},
    {"%nctaid.x", [](warp const& w, unsigned) { return blocks(w).x; }},
    {"%nctaid.y", [](warp const& w, unsigned) { return blocks(w).y; }},
    {"%nctaid.z", [](warp const& w, unsigned) { return blocks(w).z; }},
    {"%cluster_ctarank", [](warp const& w, unsigned) { return w.in->rank; }},
    {"%cluster_nctarank", [](warp const& w, unsigned) { return w.in->of->how.cluster; }},
};

}  // namespace

special special_register(std::string_view name) {
  for (row const& r : rows)
    if (name == r.name) return r.value;
  return nullptr;
}

}  // namespace ptx
