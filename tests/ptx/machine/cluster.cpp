// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include "../instructions/communication/barriers.hpp"
#include "../watch/global_races.hpp"
#include "fault.hpp"

#include <algorithm>
#include <string>

namespace ptx {

namespace {

// Moments are 32-bit numbers; no cluster needs a half of them.
constexpr moment late = moment{1} << 31;

bool ended(warp const* w) { return w->state == progress::ended; }

}  // namespace

cluster::cluster(kernel const& k, launch const& l, std::atomic<std::uint64_t> const& faulty)
    : of(k), how(l), faulty_(faulty) {
  if (how.removed.number >= 0 && how.removed.kernel == k.name) {
    altered_ = k.code;
    remove_synchronization(altered_, how.removed.number);
  }
  if (how.watched.count_memory) counted.executed.resize(k.code.size());
  if (how.watched.global_races) global = std::make_unique<global_races>(k.widths.global);
  for (auto const& [name, row] : k.specials) specials_.push_back({special_register(name), row});
  auto const threads = static_cast<unsigned>(how.block.count());
  blocks.resize(how.cluster);
  for (block& b : blocks) {
    b.of = this;
    b.rank = static_cast<unsigned>(&b - blocks.data());
    b.shared.prepare(b, k.static_shared + how.shared_bytes, k.widths, how.watched);
    b.warps.resize((threads + warp_lanes - 1) / warp_lanes);
    for (warp& w : b.warps) {
      w.in = &b;
      w.number = static_cast<unsigned>(&w - b.warps.data());
      w.first_thread = thread_of(b.rank, w.number, 0);
      w.registers.resize(static_cast<std::size_t>(k.registers) * warp_lanes, 0xdeadbeefcafef00d);
      w.constants = k.constants.data();
      all_.push_back(&w);
    }
  }
}

cluster::~cluster() = default;

void cluster::start(std::uint64_t number) {
  random = random_numbers(how.seed ^ (number + 1) * 0xd1342543de82ef95);
  late_copies = random.coin();
  if (clock_ > late) {
    clock_ = 0;
    for (block& b : blocks) b.shared.forget();
    if (global) global->forget();
  }
  moment const begin = tick();
  barriers_over = 0;
  auto const threads = static_cast<unsigned>(how.block.count());
  for (block& b : blocks) {
    std::uint64_t const index = number * how.cluster + b.rank;
    b.index = {static_cast<unsigned>(index % how.grid.x),
               static_cast<unsigned>(index / how.grid.x % how.grid.y),
               static_cast<unsigned>(index / how.grid.x / how.grid.y)};
    b.shared.start(static_cast<unsigned char>(random()));
    b.running = static_cast<unsigned>(b.warps.size());
    for (warp& w : b.warps) {
      w.start(threads - w.number * warp_lanes, begin);
      for (auto const& [value, row] : specials_)
        for (unsigned l = 0; l < warp_lanes; ++l)
          w.registers[static_cast<std::size_t>(row) * warp_lanes + l] = value(w, l);
    }
  }
  std::sort(all_.begin(), all_.end());  // each cluster has its own lot, whichever ran before
  counted.blocks += blocks.size();
  counted.threads += std::uint64_t{threads} * blocks.size();
}

// Between barriers warps run in any order, one after the other.
void cluster::run(std::uint64_t number) {
  start(number);
  while (number < faulty_) {
    random.shuffle(all_);
    bool ran = false;
    for (warp* w : all_)
      if (w->state == progress::running) {
        w->run();
        ran = true;
      }
    for (block& b : blocks) release(b);
    release_cluster();
    if (ran) continue;
    if (std::all_of(all_.begin(), all_.end(), ended)) return;
    if (std::none_of(all_.begin(), all_.end(),
                     [](warp const* w) { return w->state == progress::running; }))
      deadlock();
  }
}

// Lets a block go whose warps have all come to its barrier. Those that have left the kernel are
// not waited for.
void cluster::release(block& b) {
  warp const* first = nullptr;
  for (warp const& w : b.warps) {
    if (ended(&w)) continue;
    if (w.state != progress::at_barrier) return;
    if (first == nullptr) first = &w;
    if (w.now->of != first->now->of || w.now->mode != first->now->mode)
      w.fail("waits at another kind of barrier than warp " + std::to_string(first->number) +
             ", line " + std::to_string(first->now->line));
  }
  if (first == nullptr) return;
  ++counted.barriers;
  moment const when = tick();
  std::uint32_t over = 0;
  reduce_votes(b);
  for (warp const& w : b.warps)
    if (!ended(&w)) over = std::max(over, w.past.cluster_barriers);
  for (warp& w : b.warps) {
    if (ended(&w)) continue;
    w.past.now = w.past.block_barrier = when;
    w.past.cluster_barriers = over;
    settle(w);
    w.state = progress::running;
  }
}

void cluster::release_cluster() {
  // Whether all have come to the next barrier.
  bool over = false;
  moment first = ~moment{0}, last = 0;
  for (warp const* w : all_) {
    if (ended(w)) continue;
    if (w->cluster_arrivals <= barriers_over) {
      over = false;
      break;
    }
    over = true;
    moment const arrival = w->past.arrivals[barriers_over % 4];
    first = std::min(first, arrival);
    last = std::max(last, arrival);
  }
  if (over) {
    first_arrivals[barriers_over % 4] = first;
    last_arrivals[barriers_over % 4] = last;
    ++barriers_over;
    ++counted.cluster_barriers;
  }
  for (warp* w : all_)
    if (w->state == progress::at_cluster_barrier && w->cluster_waits < barriers_over)
      pass_cluster_barrier(*w);
}

void cluster::pass_cluster_barrier(warp& w) {
  ++w.cluster_waits;
  w.past.cluster_barriers = std::max(w.past.cluster_barriers, w.cluster_waits);
  w.past.now = tick();
  settle(w);
  w.state = progress::running;
}

void cluster::settle(warp& w) const {
  if (blocks.size() == 1)
    w.past.calm = w.past.block_barrier;
  else if (w.past.cluster_barriers != 0)
    w.past.calm = first_arrivals[(w.past.cluster_barriers - 1) % 4];
  w.past.block_calm = std::max(w.past.calm, w.past.block_barrier);
}

void cluster::deadlock() const {
  std::string who;
  for (warp const* w : all_)
    if (w->state != progress::ended)
      who += (who.empty() ? "" : "; ") + std::string("warp ") + std::to_string(w->number) +
             " of block " + std::to_string(w->in->rank) + " waits in line " +
             std::to_string(w->now->line);
  auto const waiting = std::find_if_not(all_.begin(), all_.end(), ended);
  (*waiting)->fail("deadlock: nobody is left whom these wait for: " + who);
}

allocation const& cluster::memory_of(instruction const& n, std::uint64_t address) {
  return hints_[hint(n)] = memory_.find(address);
}

}  // namespace ptx
