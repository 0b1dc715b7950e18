// SPDX-License-Identifier: Apache-2.0
#include "warp.hpp"

#include "cluster.hpp"
#include "fault.hpp"

#include <cstdio>
#include <string>

namespace ptx {

namespace {

// A warp that spins on a value must yield to the warp that stores it.
constexpr int branches_per_slice = 1 << 14;

std::string coordinates(extent const& e) {
  std::string s = std::to_string(e.x);
  if (e.y != 0 || e.z != 0) s += "," + std::to_string(e.y) + "," + std::to_string(e.z);
  return s;
}

unsigned lane_count(lane_mask m) { return static_cast<unsigned>(__builtin_popcount(m)); }

}  // namespace

void warp::fail(std::string const& message) const {
  kernel const& k = block->cluster->kernel;
  std::string location =
      k.name + ", block " + coordinates(block->index) + ", warp " + std::to_string(rank);
  if (current != nullptr) {
    location += ", line " + std::to_string(current->line);
    auto const line = static_cast<std::size_t>(current->line) - 1;
    if (line < k.lines.size()) location += " `" + k.lines[line] + "`";
  }
  throw fault(location + ": " + message);
}

void warp::fail(std::string const& message, unsigned lane, std::uint64_t address) const {
  char details[64];
  std::snprintf(details, sizeof details, " (thread %u, address %#llx)", rank * 32 + lane,
                static_cast<unsigned long long>(address));
  fail(message + details);
}

void warp::require_converged(lane_mask active, char const* operation) const {
  if (active == alive) return;
  char lanes[64];
  std::snprintf(lanes, sizeof lanes, ": lanes %08x of %08x", active, alive);
  fail(std::string(operation) + " that part of a warp does not reach" + lanes);
}

void warp::start(unsigned threads, timestamp begin) {
  alive = threads >= warp_lanes ? all_lanes : (lane_mask{1} << threads) - 1;
  paths.assign(1, {0, static_cast<std::int32_t>(block->cluster->code().size()), alive});
  state = progress::running;
  current = nullptr;
  cluster_arrivals = cluster_waits = 0;
  copies.clear();
  committed_groups.fill(0);
  sync.start(begin);
}

void warp::run() {
  branches_until_yield = branches_per_slice;
  while (state == progress::running && branches_until_yield > 0) {
    if (paths.empty()) fail("runs past the end of the kernel");
    path& p = paths.back();
    converged = p.lanes & alive;
    if (converged == 0 || p.next == p.join) {
      paths.pop_back();
      continue;
    }
    run_path(p);
  }
}

lane_mask warp::guarded_lanes(instruction const& instr) const {
  std::uint64_t const* const p = &registers[static_cast<std::size_t>(instr.guard) * warp_lanes];
  std::uint64_t any_true = 0, all_true = 1;
  for (int lane = 0; lane < warp_lanes; ++lane) any_true |= p[lane], all_true &= p[lane];
  lane_mask true_lanes = 0;
  if (all_true != 0)
    true_lanes = all_lanes;
  else if (any_true != 0)
    for (int lane = 0; lane < warp_lanes; ++lane)
      true_lanes |= static_cast<lane_mask>(p[lane] & 1) << lane;
  return instr.guard_negated ? ~true_lanes : true_lanes;
}

void warp::run_path(path& p) {
  instruction const* const code = block->cluster->code().data();
  instruction const* const join = code + p.join;
  instruction const* instr = code + p.next;
  counters& counts = block->cluster->counts;
  std::uint64_t instructions = 0, skipped = 0;  // skipped: by lanes that a guard disables
  auto const stop = [&] {
    p.next = static_cast<std::int32_t>(instr - code);
    counts.warp_instructions += instructions;
    counts.thread_instructions += instructions * lane_count(converged) - skipped;
  };
  std::uint64_t* const executed = counts.executed.empty() ? nullptr : counts.executed.data();
  do {
    lane_mask active = converged;
    ++instructions;
    if (executed != nullptr) ++executed[instr - code];
    if (instr->guard >= 0) {
      active &= guarded_lanes(*instr);
      if (active != converged) skipped += lane_count(converged & ~active);
    }
    current = instr;
    if (instr->control_flow == flow::next) {
      if (active != 0) instr->act(*this, *instr, active);
      ++instr;
      if (state != progress::running) break;
    } else if (active == 0) {
      ++instr;
    } else if (instr->control_flow == flow::exit) {
      ++instr;
      stop();
      exit_lanes(active);
      return;
    } else if (active == converged) {
      instr = code + instr->target;
      if (--branches_until_yield == 0) break;
    } else {
      stop();
      diverge(p, *instr, active);
      return;
    }
  } while (instr != join);
  stop();
}

// The path that runs first is random, since PTX does not specify it.
void warp::diverge(path& p, instruction const& instr, lane_mask taken) {
  ++block->cluster->counts.divergent_branches;
  std::int32_t const fall_through = p.next + 1;
  path branch_paths[] = {{instr.target, instr.join, taken},
                         {fall_through, instr.join, converged & ~taken}};
  if (block->cluster->random.next_bool()) std::swap(branch_paths[0], branch_paths[1]);
  p.next = instr.join;
  paths.push_back(branch_paths[0]);
  paths.push_back(branch_paths[1]);
}

void warp::exit_lanes(lane_mask lanes) {
  for (pending_copy const& c : copies)
    if ((lanes >> c.lane & 1) != 0)
      fail("ends while its asynchronous copy is under way", c.lane, c.to);
  alive &= ~lanes;
  if (alive != 0) return;
  state = progress::ended;
  sync.arrivals.fill(block->cluster->tick());  // barriers no longer wait for this warp
  --block->running_warps;
  if (block->running_warps == 0) block->shared.end_block(*this);
}

}  // namespace ptx
