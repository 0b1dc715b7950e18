// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include "../instructions/communication/barriers.hpp"
#include "../watch/global_races.hpp"
#include "fault.hpp"

#include <algorithm>
#include <string>

namespace ptx {

namespace {

// The clock restarts beyond this value. No cluster needs half of its 32-bit range.
constexpr timestamp max_clock = timestamp{1} << 31;

bool has_ended(warp const* w) { return w->state == progress::ended; }

}  // namespace

cluster::cluster(ptx::kernel const& k, ptx::launch const& l,
                 std::atomic<std::uint64_t> const& first_faulty)
    : kernel(k), launch(l), first_faulty_(first_faulty) {
  if (launch.removed.index >= 0 && launch.removed.kernel == k.name) {
    altered_code_ = k.code;
    remove_synchronization(altered_code_, launch.removed.index);
  }
  if (launch.options.count_memory) counts.executed.resize(k.code.size());
  if (launch.options.global_races)
    global_race_detector = std::make_unique<global_races>(k.widths.global);
  for (auto const& [name, row] : k.specials) specials_.push_back({special_register(name), row});
  auto const threads = static_cast<unsigned>(launch.block.count());
  blocks.resize(launch.cluster);
  for (block& b : blocks) {
    b.cluster = this;
    b.rank = static_cast<unsigned>(&b - blocks.data());
    b.shared.prepare(b, k.static_shared + launch.shared_bytes, k.widths, launch.options);
    b.warps.resize((threads + warp_lanes - 1) / warp_lanes);
    for (warp& w : b.warps) {
      w.block = &b;
      w.rank = static_cast<unsigned>(&w - b.warps.data());
      w.first_thread = thread_of(b.rank, w.rank, 0);
      w.registers.resize(static_cast<std::size_t>(k.registers) * warp_lanes, 0xdeadbeefcafef00d);
      w.constants = k.constants.data();
      warps_.push_back(&w);
    }
  }
}

cluster::~cluster() = default;

void cluster::start(std::uint64_t cluster_index) {
  random = random_generator(launch.seed ^ (cluster_index + 1) * 0xd1342543de82ef95);
  late_copies = random.next_bool();
  if (clock_ > max_clock) {
    clock_ = 0;
    for (block& b : blocks) b.shared.clear_history();
    if (global_race_detector) global_race_detector->clear_history();
  }
  timestamp const begin = tick();
  completed_barriers = 0;
  auto const threads = static_cast<unsigned>(launch.block.count());
  for (block& b : blocks) {
    std::uint64_t const block_index = cluster_index * launch.cluster + b.rank;
    b.index = {static_cast<unsigned>(block_index % launch.grid.x),
               static_cast<unsigned>(block_index / launch.grid.x % launch.grid.y),
               static_cast<unsigned>(block_index / launch.grid.x / launch.grid.y)};
    b.shared.begin_block(static_cast<unsigned char>(random()));
    b.running_warps = static_cast<unsigned>(b.warps.size());
    for (warp& w : b.warps) {
      w.start(threads - w.rank * warp_lanes, begin);
      for (auto const& [value, row] : specials_)
        for (unsigned lane = 0; lane < warp_lanes; ++lane)
          w.registers[static_cast<std::size_t>(row) * warp_lanes + lane] = value(w, lane);
    }
  }
  std::sort(warps_.begin(), warps_.end());  // makes the order independent of earlier clusters
  counts.blocks += blocks.size();
  counts.threads += std::uint64_t{threads} * blocks.size();
}

// Runs the warps one after the other between barriers, in random order.
void cluster::run(std::uint64_t cluster_index) {
  start(cluster_index);
  while (cluster_index < first_faulty_) {
    random.shuffle(warps_);
    bool ran = false;
    for (warp* w : warps_)
      if (w->state == progress::running) {
        w->run();
        ran = true;
      }
    for (block& b : blocks) release_block(b);
    release_cluster();
    if (ran) continue;
    if (std::all_of(warps_.begin(), warps_.end(), has_ended)) return;
    if (std::none_of(warps_.begin(), warps_.end(),
                     [](warp const* w) { return w->state == progress::running; }))
      fail_deadlock();
  }
}

// Releases the barrier of a block if all of its running warps have arrived.
void cluster::release_block(block& b) {
  warp const* first = nullptr;
  for (warp const& w : b.warps) {
    if (has_ended(&w)) continue;
    if (w.state != progress::at_barrier) return;
    if (first == nullptr) first = &w;
    if (w.current->opcode != first->current->opcode || w.current->mode != first->current->mode)
      w.fail("waits at another kind of barrier than warp " + std::to_string(first->rank) +
             ", line " + std::to_string(first->current->line));
  }
  if (first == nullptr) return;
  ++counts.barriers;
  timestamp const time = tick();
  std::uint32_t barriers = 0;
  reduce_votes(b);
  for (warp const& w : b.warps)
    if (!has_ended(&w)) barriers = std::max(barriers, w.sync.cluster_barriers);
  for (warp& w : b.warps) {
    if (has_ended(&w)) continue;
    w.sync.last_sync = w.sync.block_barrier = time;
    w.sync.cluster_barriers = barriers;
    update_ordered(w);
    w.state = progress::running;
  }
}

void cluster::release_cluster() {
  // True if all running warps have arrived at the next barrier.
  bool complete = false;
  timestamp first_arrival = ~timestamp{0}, last_arrival = 0;
  for (warp const* w : warps_) {
    if (has_ended(w)) continue;
    if (w->cluster_arrivals <= completed_barriers) {
      complete = false;
      break;
    }
    complete = true;
    timestamp const arrival = w->sync.arrivals[completed_barriers % 4];
    first_arrival = std::min(first_arrival, arrival);
    last_arrival = std::max(last_arrival, arrival);
  }
  if (complete) {
    first_arrivals[completed_barriers % 4] = first_arrival;
    last_arrivals[completed_barriers % 4] = last_arrival;
    ++completed_barriers;
    ++counts.cluster_barriers;
  }
  for (warp* w : warps_)
    if (w->state == progress::at_cluster_barrier && w->cluster_waits < completed_barriers)
      pass_cluster_barrier(*w);
}

void cluster::pass_cluster_barrier(warp& w) {
  ++w.cluster_waits;
  w.sync.cluster_barriers = std::max(w.sync.cluster_barriers, w.cluster_waits);
  w.sync.last_sync = tick();
  update_ordered(w);
  w.state = progress::running;
}

void cluster::update_ordered(warp& w) const {
  if (blocks.size() == 1)
    w.sync.cluster_ordered = w.sync.block_barrier;
  else if (w.sync.cluster_barriers != 0)
    w.sync.cluster_ordered = first_arrivals[(w.sync.cluster_barriers - 1) % 4];
  w.sync.block_ordered = std::max(w.sync.cluster_ordered, w.sync.block_barrier);
}

void cluster::fail_deadlock() const {
  std::string waiting_warps;
  for (warp const* w : warps_)
    if (w->state != progress::ended)
      waiting_warps += (waiting_warps.empty() ? "" : "; ") + std::string("warp ") +
                       std::to_string(w->rank) + " of block " + std::to_string(w->block->rank) +
                       " waits in line " + std::to_string(w->current->line);
  auto const waiting = std::find_if_not(warps_.begin(), warps_.end(), has_ended);
  (*waiting)->fail("deadlock: " + waiting_warps);
}

allocation const& cluster::find_allocation(instruction const& instr, std::uint64_t address) {
  return last_allocations_[cache_index(instr)] = memory_.find(address);
}

}  // namespace ptx
