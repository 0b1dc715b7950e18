// SPDX-License-Identifier: Apache-2.0
#include "warp.hpp"

#include "cluster.hpp"
#include "fault.hpp"

#include <cstdio>
#include <string>

namespace ptx {

namespace {

// A warp that spins until another one stores a number must let that one run.
constexpr int branches_a_turn = 1 << 14;

std::string place(extent const& e) {
  std::string s = std::to_string(e.x);
  if (e.y != 0 || e.z != 0) s += "," + std::to_string(e.y) + "," + std::to_string(e.z);
  return s;
}

unsigned lanes_in(lane_mask m) { return static_cast<unsigned>(__builtin_popcount(m)); }

}  // namespace

void warp::fail(std::string const& what) const {
  kernel const& k = in->of->of;
  std::string where = k.name + ", block " + place(in->index) + ", warp " + std::to_string(number);
  if (now != nullptr) {
    where += ", line " + std::to_string(now->line);
    auto const line = static_cast<std::size_t>(now->line) - 1;
    if (line < k.lines.size()) where += " `" + k.lines[line] + "`";
  }
  throw fault(where + ": " + what);
}

void warp::fail(std::string const& what, unsigned lane, std::uint64_t address) const {
  char more[64];
  std::snprintf(more, sizeof more, " (thread %u, address %#llx)", number * 32 + lane,
                static_cast<unsigned long long>(address));
  fail(what + more);
}

void warp::demand_whole(lane_mask active, char const* what) const {
  if (active == alive) return;
  char lanes[64];
  std::snprintf(lanes, sizeof lanes, ": lanes %08x of %08x", active, alive);
  fail(std::string(what) + " that part of a warp does not reach" + lanes);
}

void warp::start(unsigned threads, moment begin) {
  alive = threads >= warp_lanes ? all_lanes : (lane_mask{1} << threads) - 1;
  paths.assign(1, {0, static_cast<std::int32_t>(in->of->code().size()), alive});
  state = progress::running;
  now = nullptr;
  cluster_arrivals = cluster_waits = 0;
  copies.clear();
  copy_groups.fill(0);
  past.start(begin);
}

void warp::run() {
  turn = branches_a_turn;
  while (state == progress::running && turn > 0) {
    if (paths.empty()) fail("runs past the end of the kernel");
    path& p = paths.back();
    together = p.lanes & alive;
    if (together == 0 || p.next == p.join) {
      paths.pop_back();
      continue;
    }
    follow(p);
  }
}

lane_mask warp::chosen(instruction const& n) const {
  std::uint64_t const* const p = &registers[static_cast<std::size_t>(n.guard) * warp_lanes];
  std::uint64_t any = 0, every = 1;
  for (int l = 0; l < warp_lanes; ++l) any |= p[l], every &= p[l];
  lane_mask set = 0;
  if (every != 0)
    set = all_lanes;
  else if (any != 0)
    for (int l = 0; l < warp_lanes; ++l) set |= static_cast<lane_mask>(p[l] & 1) << l;
  return n.guard_negated ? ~set : set;
}

void warp::follow(path& p) {
  instruction const* const code = in->of->code().data();
  instruction const* const join = code + p.join;
  instruction const* n = code + p.next;
  counters& counted = in->of->counted;
  std::uint64_t steps = 0, idle = 0;  // idle: lanes that a guard left out
  auto const stop = [&] {
    p.next = static_cast<std::int32_t>(n - code);
    counted.warp_instructions += steps;
    counted.thread_instructions += steps * lanes_in(together) - idle;
  };
  std::uint64_t* const executed = counted.executed.empty() ? nullptr : counted.executed.data();
  do {
    lane_mask active = together;
    ++steps;
    if (executed != nullptr) ++executed[n - code];
    if (n->guard >= 0) {
      active &= chosen(*n);
      if (active != together) idle += lanes_in(together & ~active);
    }
    now = n;
    if (n->then == flow::next) {
      if (active != 0) n->act(*this, *n, active);
      ++n;
      if (state != progress::running) break;
    } else if (active == 0) {
      ++n;
    } else if (n->then == flow::exit) {
      ++n;
      stop();
      leave(active);
      return;
    } else if (active == together) {
      n = code + n->target;
      if (--turn == 0) break;
    } else {
      stop();
      fork(p, *n, active);
      return;
    }
  } while (n != join);
  stop();
}

// Which side goes first is open, and drawn by lot.
void warp::fork(path& p, instruction const& n, lane_mask taken) {
  ++in->of->counted.divergent_branches;
  std::int32_t const other = p.next + 1;
  path sides[] = {{n.target, n.join, taken}, {other, n.join, together & ~taken}};
  if (in->of->random.coin()) std::swap(sides[0], sides[1]);
  p.next = n.join;
  paths.push_back(sides[0]);
  paths.push_back(sides[1]);
}

void warp::leave(lane_mask lanes) {
  for (pending_copy const& c : copies)
    if ((lanes >> c.lane & 1) != 0)
      fail("ends while its asynchronous copy is under way", c.lane, c.to);
  alive &= ~lanes;
  if (alive != 0) return;
  state = progress::ended;
  past.arrivals.fill(in->of->tick());  // nobody waits for it at a barrier any more
  --in->running;
  if (in->running == 0) in->shared.end(*this);
}

}  // namespace ptx
