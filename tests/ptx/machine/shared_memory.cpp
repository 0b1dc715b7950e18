// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include "cluster.hpp"

#include <algorithm>
#include <string>

namespace ptx {

void shared_memory::prepare(block& owner, std::size_t bytes, std::size_t grain,
                            watch const& watched) {
  owner_ = &owner;
  several_ = static_cast<std::uint16_t>(several_warps | owner.rank << 5);
  races_ = watched.shared_races;
  unwritten_ = watched.unwritten_shared;
  bytes_.resize(bytes);
  for (shift_ = 0; (std::size_t{1} << shift_) < grain;) ++shift_;
  if (races_ || unwritten_) cells_.resize((bytes + grain - 1) >> shift_);
  if (owner.of->blocks.size() > 1) {
    far_.resize(cells_.size());
    visits_.resize(owner.of->blocks.size());
  }
}

void shared_memory::start(unsigned char anything) {
  std::fill(bytes_.begin(), bytes_.end(), anything);
  std::fill(visits_.begin(), visits_.end(), writing{});
}

void shared_memory::forget() {
  std::fill(cells_.begin(), cells_.end(), cell{});
  std::fill(far_.begin(), far_.end(), reading{});
}

void shared_memory::end(warp const& last) {
  for (writing const& v : visits_)
    if (v.when >= last.past.born && !came_before(last, 0, v.when, v.writer))
      last.fail("the block leaves the cluster, and no barrier is between this and an access of " +
                name_of_thread(last, v.writer) + " to its shared memory");
}

void shared_memory::visit(warp const& w, unsigned lane) {
  if (owner_->running == 0)
    w.fail("shared memory of block " + std::to_string(owner_->rank) +
               " of the cluster, which has ended",
           lane, 0);
  visits_[w.in->rank] = {w.past.now, static_cast<std::uint16_t>(w.first_thread | lane)};
}

void shared_memory::race(warp const& w, unsigned lane, std::size_t i, char const* does,
                         std::string const& who, char const* did) const {
  w.fail("race at byte " + std::to_string(i << shift_) +
         " of shared memory: " + name_of_thread(w, w.first_thread | lane) + " " + does + " what " +
         who + " " + did + ", and nothing orders the two");
}

void shared_memory::check_read(warp& w, unsigned lane, std::size_t i) const {
  cell const& c = cells_[i];
  if (c.written < w.past.born) {
    if (unwritten_)
      w.fail(name_of_thread(w, w.first_thread | lane) + " reads byte " +
             std::to_string(i << shift_) + " of shared memory, which nobody wrote");
    return;
  }
  if (!races_) return;
  if (c.writer == copying) race(w, lane, i, "reads", "an asynchronous copy", "is still writing");
  if (!came_before(w, lane, c.written, c.writer))
    race(w, lane, i, "reads", name_of_thread(w, c.writer), "wrote");
}

void shared_memory::check_write(warp& w, unsigned lane, std::size_t i) const {
  if (!races_) return;
  cell const& c = cells_[i];
  if (c.written >= w.past.born) {
    if (c.writer == copying) race(w, lane, i, "writes", "an asynchronous copy", "is still writing");
    if (!came_before(w, lane, c.written, c.writer))
      race(w, lane, i, "writes", name_of_thread(w, c.writer), "wrote");
  }
  auto const check = [&](reading const& r) {
    if (r.last >= w.past.born && !came_before(w, lane, r))
      race(w, lane, i, "writes", name_of_readers(w, r, w.first_thread | lane), "read");
  };
  check(c.last_reading());
  if (!far_.empty()) check(far_[i]);
}

void shared_memory::note_slowly(warp& w, unsigned lane, std::size_t i, doing what) {
  std::size_t const at = i << shift_, bytes = std::size_t{1} << shift_;
  if (what == doing::read)
    read(w, lane, at, bytes);
  else
    write(w, lane, at, bytes);
}

void shared_memory::start_copy(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  write(w, lane, at, bytes);
  if (races_)
    for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i != end; ++i) {
      cells_[i].written = ~moment{0};
      cells_[i].writer = copying;
    }
}

void shared_memory::land_copy(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i != end; ++i) {
    cells_[i].written = w.past.now;
    cells_[i].writer = static_cast<std::uint16_t>(w.first_thread | lane);
  }
}

}  // namespace ptx
