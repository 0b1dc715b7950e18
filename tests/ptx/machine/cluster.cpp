// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include "../instructions/communication/barriers.hpp"
#include "../watch/global_races.hpp"
#include "fault.hpp"

#include <algorithm>
#include <string>

namespace ptx {

namespace {

// The clock has 32 bits; no cluster needs half of its range.
constexpr moment max_clock = moment{1} << 31;

bool ended(warp const* w) { return w->state == progress::ended; }

}  // namespace

cluster::cluster(ptx::kernel const& k, ptx::launch const& l,
                 std::atomic<std::uint64_t> const& faulty)
    : kernel(k), launch(l), faulty_(faulty) {
  if (launch.removed.number >= 0 && launch.removed.kernel == k.name) {
    altered_ = k.code;
    remove_synchronization(altered_, launch.removed.number);
  }
  if (launch.watched.count_memory) counted.executed.resize(k.code.size());
  if (launch.watched.global_races) global = std::make_unique<global_races>(k.widths.global);
  for (auto const& [name, row] : k.specials) specials_.push_back({special_register(name), row});
  auto const threads = static_cast<unsigned>(launch.block.count());
  blocks.resize(launch.cluster);
  for (block& b : blocks) {
    b.cluster = this;
    b.rank = static_cast<unsigned>(&b - blocks.data());
    b.shared.prepare(b, k.static_shared + launch.shared_bytes, k.widths, launch.watched);
    b.warps.resize((threads + warp_lanes - 1) / warp_lanes);
    for (warp& w : b.warps) {
      w.block = &b;
      w.number = static_cast<unsigned>(&w - b.warps.data());
      w.first_thread = thread_of(b.rank, w.number, 0);
      w.registers.resize(static_cast<std::size_t>(k.registers) * warp_lanes, 0xdeadbeefcafef00d);
      w.constants = k.constants.data();
      warps_.push_back(&w);
    }
  }
}

cluster::~cluster() = default;

void cluster::start(std::uint64_t number) {
  random = random_numbers(launch.seed ^ (number + 1) * 0xd1342543de82ef95);
  late_copies = random.coin();
  if (clock_ > max_clock) {
    clock_ = 0;
    for (block& b : blocks) b.shared.reset();
    if (global) global->reset();
  }
  moment const begin = tick();
  completed_barriers = 0;
  auto const threads = static_cast<unsigned>(launch.block.count());
  for (block& b : blocks) {
    std::uint64_t const index = number * launch.cluster + b.rank;
    b.index = {static_cast<unsigned>(index % launch.grid.x),
               static_cast<unsigned>(index / launch.grid.x % launch.grid.y),
               static_cast<unsigned>(index / launch.grid.x / launch.grid.y)};
    b.shared.start(static_cast<unsigned char>(random()));
    b.running = static_cast<unsigned>(b.warps.size());
    for (warp& w : b.warps) {
      w.start(threads - w.number * warp_lanes, begin);
      for (auto const& [value, row] : specials_)
        for (unsigned l = 0; l < warp_lanes; ++l)
          w.registers[static_cast<std::size_t>(row) * warp_lanes + l] = value(w, l);
    }
  }
  std::sort(warps_.begin(), warps_.end());  // makes the order independent of earlier clusters
  counted.blocks += blocks.size();
  counted.threads += std::uint64_t{threads} * blocks.size();
}

// Between barriers the warps run one after the other, in random order.
void cluster::run(std::uint64_t number) {
  start(number);
  while (number < faulty_) {
    random.shuffle(warps_);
    bool ran = false;
    for (warp* w : warps_)
      if (w->state == progress::running) {
        w->run();
        ran = true;
      }
    for (block& b : blocks) release(b);
    release_cluster();
    if (ran) continue;
    if (std::all_of(warps_.begin(), warps_.end(), ended)) return;
    if (std::none_of(warps_.begin(), warps_.end(),
                     [](warp const* w) { return w->state == progress::running; }))
      deadlock();
  }
}

// Releases the barrier of a block if all of its running warps have arrived.
void cluster::release(block& b) {
  warp const* first = nullptr;
  for (warp const& w : b.warps) {
    if (ended(&w)) continue;
    if (w.state != progress::at_barrier) return;
    if (first == nullptr) first = &w;
    if (w.current->opcode != first->current->opcode || w.current->mode != first->current->mode)
      w.fail("waits at another kind of barrier than warp " + std::to_string(first->number) +
             ", line " + std::to_string(first->current->line));
  }
  if (first == nullptr) return;
  ++counted.barriers;
  moment const time = tick();
  std::uint32_t barriers = 0;
  reduce_votes(b);
  for (warp const& w : b.warps)
    if (!ended(&w)) barriers = std::max(barriers, w.past.cluster_barriers);
  for (warp& w : b.warps) {
    if (ended(&w)) continue;
    w.past.last_sync = w.past.block_barrier = time;
    w.past.cluster_barriers = barriers;
    update_ordered(w);
    w.state = progress::running;
  }
}

void cluster::release_cluster() {
  // True if all running warps have arrived at the next barrier.
  bool complete = false;
  moment first = ~moment{0}, last = 0;
  for (warp const* w : warps_) {
    if (ended(w)) continue;
    if (w->cluster_arrivals <= completed_barriers) {
      complete = false;
      break;
    }
    complete = true;
    moment const arrival = w->past.arrivals[completed_barriers % 4];
    first = std::min(first, arrival);
    last = std::max(last, arrival);
  }
  if (complete) {
    first_arrivals[completed_barriers % 4] = first;
    last_arrivals[completed_barriers % 4] = last;
    ++completed_barriers;
    ++counted.cluster_barriers;
  }
  for (warp* w : warps_)
    if (w->state == progress::at_cluster_barrier && w->cluster_waits < completed_barriers)
      pass_cluster_barrier(*w);
}

void cluster::pass_cluster_barrier(warp& w) {
  ++w.cluster_waits;
  w.past.cluster_barriers = std::max(w.past.cluster_barriers, w.cluster_waits);
  w.past.last_sync = tick();
  update_ordered(w);
  w.state = progress::running;
}

void cluster::update_ordered(warp& w) const {
  if (blocks.size() == 1)
    w.past.cluster_ordered = w.past.block_barrier;
  else if (w.past.cluster_barriers != 0)
    w.past.cluster_ordered = first_arrivals[(w.past.cluster_barriers - 1) % 4];
  w.past.block_ordered = std::max(w.past.cluster_ordered, w.past.block_barrier);
}

void cluster::deadlock() const {
  std::string waiting_warps;
  for (warp const* w : warps_)
    if (w->state != progress::ended)
      waiting_warps += (waiting_warps.empty() ? "" : "; ") + std::string("warp ") +
                       std::to_string(w->number) + " of block " + std::to_string(w->block->rank) +
                       " waits in line " + std::to_string(w->current->line);
  auto const waiting = std::find_if_not(warps_.begin(), warps_.end(), ended);
  (*waiting)->fail("deadlock: " + waiting_warps);
}

allocation const& cluster::memory_of(instruction const& instr, std::uint64_t address) {
  return hints_[hint(instr)] = memory_.find(address);
}

}  // namespace ptx
