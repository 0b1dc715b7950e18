// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include "cluster.hpp"

#include <algorithm>
#include <string>

namespace ptx {

void shared_memory::prepare(block& owner, std::size_t bytes, access_widths const& widths,
                            watch const& watched) {
  std::size_t const grain = widths.shared;
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
  } else if (widths.shared_lines && grain < 16 && !cells_.empty()) {
    cells_.resize((bytes + 15) / 16 * (16 >> shift_));
    whole_.resize((bytes + 15) / 16);
  }
}

void shared_memory::start(unsigned char anything) {
  std::fill(bytes_.begin(), bytes_.end(), anything);
  std::fill(visits_.begin(), visits_.end(), writing{});
  std::fill(whole_.begin(), whole_.end(), static_cast<unsigned char>(1));  // nobody wrote
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

void shared_memory::spread(std::size_t line) {
  auto const first = cells_.begin() + static_cast<std::ptrdiff_t>(line * (16 >> shift_));
  std::fill(first + 1, first + (16 >> shift_), *first);
  whole_[line] = 0;
}

void shared_memory::race(warp const& w, unsigned lane, cell const& c, char const* does,
                         std::string const& who, char const* did) const {
  w.fail("race at byte " + std::to_string(number(c) << shift_) +
         " of shared memory: " + name_of_thread(w, w.first_thread | lane) + " " + does + " what " +
         who + " " + did + ", and nothing orders the two");
}

void shared_memory::check_read(warp& w, unsigned lane, cell const& c) const {
  if (c.written < w.past.born) {
    if (unwritten_)
      w.fail(name_of_thread(w, w.first_thread | lane) + " reads byte " +
             std::to_string(number(c) << shift_) + " of shared memory, which nobody wrote");
    return;
  }
  if (!races_) return;
  if (c.writer == copying) race(w, lane, c, "reads", "an asynchronous copy", "is still writing");
  if (!came_before(w, lane, c.written, c.writer))
    race(w, lane, c, "reads", name_of_thread(w, c.writer), "wrote");
}

void shared_memory::check_write(warp& w, unsigned lane, cell const& c) const {
  if (!races_) return;
  if (c.written >= w.past.born) {
    if (c.writer == copying) race(w, lane, c, "writes", "an asynchronous copy", "is still writing");
    if (!came_before(w, lane, c.written, c.writer))
      race(w, lane, c, "writes", name_of_thread(w, c.writer), "wrote");
  }
  auto const check = [&](reading const& r) {
    if (r.last >= w.past.born && !came_before(w, lane, r))
      race(w, lane, c, "writes", name_of_readers(w, r, w.first_thread | lane), "read");
  };
  check(c.last_reading());
  if (!far_.empty()) check(far_[number(c)]);
}

void shared_memory::read_cell(warp& w, unsigned lane, cell& c) {
  unsigned const thread = w.first_thread | lane;
  if (!is_settled(w, c) && !(c.writer == thread && c.written >= w.past.born))
    check_read(w, lane, c);
  if (owner_ == w.in) {
    add_readers(w, c, lane_mask{1} << lane);
  } else {
    reading& r = far_[number(c)];
    r = joined(w, lane, r);
  }
}

void shared_memory::write_cell(warp& w, unsigned lane, cell& c) {
  order const& past = w.past;
  unsigned const thread = w.first_thread | lane;
  moment const calm_readers = owner_ == w.in ? past.block_calm : past.calm;
  bool const written = c.writer == thread || c.written < past.born || is_settled(w, c);
  bool const read =
      c.read < calm_readers || (c.reader == thread >> 5 && c.lanes == lane_mask{1} << lane);
  bool const far = !far_.empty() && far_[number(c)].last >= past.calm;
  if (!written || !read || far) check_write(w, lane, c);
  c.written = past.now;
  c.writer = static_cast<std::uint16_t>(thread);
}

void shared_memory::read(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  if (owner_ != w.in) visit(w, lane);
  for (cell& c : cells_of(at, bytes)) read_cell(w, lane, c);
}

void shared_memory::write(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  if (owner_ != w.in) visit(w, lane);
  for (cell& c : cells_of(at, bytes)) write_cell(w, lane, c);
  gather(at, bytes);
}

void shared_memory::start_copy(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  write(w, lane, at, bytes);
  if (!races_) return;
  for (cell& c : cells_of(at, bytes)) {
    c.written = ~moment{0};
    c.writer = copying;
  }
}

void shared_memory::land_copy(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  for (cell& c : cells_of(at, bytes)) {
    c.written = w.past.now;
    c.writer = static_cast<std::uint16_t>(w.first_thread | lane);
  }
}

}  // namespace ptx
