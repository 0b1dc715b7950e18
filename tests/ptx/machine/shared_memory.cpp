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
  several_of_block_ = static_cast<std::uint16_t>(several_warps | owner.rank << 5);
  races_ = watched.shared_races;
  unwritten_ = watched.unwritten_shared;
  bytes_.resize(bytes);
  for (shift_ = 0; (std::size_t{1} << shift_) < grain;) ++shift_;
  if (races_ || unwritten_) cells_.resize((bytes + grain - 1) >> shift_);
  if (owner.cluster->blocks.size() > 1) {
    remote_readings_.resize(cells_.size());
    remote_accesses_.resize(owner.cluster->blocks.size());
  } else if (widths.shared_lines && grain < 16 && !cells_.empty()) {
    cells_.resize((bytes + 15) / 16 * (16 >> shift_));
    uniform_lines_.resize((bytes + 15) / 16);
  }
}

void shared_memory::start(unsigned char garbage) {
  std::fill(bytes_.begin(), bytes_.end(), garbage);
  std::fill(remote_accesses_.begin(), remote_accesses_.end(), writing{});
  std::fill(uniform_lines_.begin(), uniform_lines_.end(), static_cast<unsigned char>(1));
}

void shared_memory::reset() {
  std::fill(cells_.begin(), cells_.end(), cell{});
  std::fill(remote_readings_.begin(), remote_readings_.end(), reading{});
}

void shared_memory::end(warp const& last) {
  for (writing const& access : remote_accesses_)
    if (access.time >= last.past.cluster_begin && !came_before(last, 0, access.time, access.writer))
      last.fail("the block leaves the cluster, and no barrier is between this and an access of " +
                name_of_thread(last, access.writer) + " to its shared memory");
}

void shared_memory::record_remote(warp const& w, unsigned lane) {
  if (owner_->running == 0)
    w.fail("shared memory of block " + std::to_string(owner_->rank) +
               " of the cluster, which has ended",
           lane, 0);
  remote_accesses_[w.block->rank] = {w.past.last_sync,
                                     static_cast<std::uint16_t>(w.first_thread | lane)};
}

void shared_memory::split_line(std::size_t line) {
  auto const first = cells_.begin() + static_cast<std::ptrdiff_t>(line * (16 >> shift_));
  std::fill(first + 1, first + (16 >> shift_), *first);
  uniform_lines_[line] = 0;
}

void shared_memory::race(warp const& w, unsigned lane, cell const& c, char const* verb,
                         std::string const& other_thread, char const* other_verb) const {
  w.fail("race at byte " + std::to_string(number(c) << shift_) +
         " of shared memory: " + name_of_thread(w, w.first_thread | lane) + " " + verb + " what " +
         other_thread + " " + other_verb + ", and nothing orders the two");
}

void shared_memory::check_read(warp& w, unsigned lane, cell const& c) const {
  if (c.written < w.past.cluster_begin) {
    if (unwritten_)
      w.fail(name_of_thread(w, w.first_thread | lane) + " reads byte " +
             std::to_string(number(c) << shift_) + " of shared memory, which was never written");
    return;
  }
  if (!races_) return;
  if (c.writer == copy_in_flight)
    race(w, lane, c, "reads", "an asynchronous copy", "is still writing");
  if (!came_before(w, lane, c.written, c.writer))
    race(w, lane, c, "reads", name_of_thread(w, c.writer), "wrote");
}

void shared_memory::check_write(warp& w, unsigned lane, cell const& c) const {
  if (!races_) return;
  if (c.written >= w.past.cluster_begin) {
    if (c.writer == copy_in_flight)
      race(w, lane, c, "writes", "an asynchronous copy", "is still writing");
    if (!came_before(w, lane, c.written, c.writer))
      race(w, lane, c, "writes", name_of_thread(w, c.writer), "wrote");
  }
  auto const check = [&](reading const& r) {
    if (r.last >= w.past.cluster_begin && !came_before(w, lane, r))
      race(w, lane, c, "writes", name_of_readers(w, r, w.first_thread | lane), "read");
  };
  check(c.last_reading());
  if (!remote_readings_.empty()) check(remote_readings_[number(c)]);
}

void shared_memory::read_cell(warp& w, unsigned lane, cell& c) {
  unsigned const thread = w.first_thread | lane;
  if (!is_settled(w, c) && !(c.writer == thread && c.written >= w.past.cluster_begin))
    check_read(w, lane, c);
  if (owner_ == w.block) {
    add_readers(w, c, lane_mask{1} << lane);
  } else {
    reading& r = remote_readings_[number(c)];
    r = with_reader(w, lane, r);
  }
}

void shared_memory::write_cell(warp& w, unsigned lane, cell& c) {
  order const& past = w.past;
  unsigned const thread = w.first_thread | lane;
  moment const ordered = owner_ == w.block ? past.block_ordered : past.cluster_ordered;
  bool const written = c.writer == thread || c.written < past.cluster_begin || is_settled(w, c);
  bool const read =
      c.read < ordered || (c.reader == thread >> 5 && c.lanes == lane_mask{1} << lane);
  bool const remote_reading =
      !remote_readings_.empty() && remote_readings_[number(c)].last >= past.cluster_ordered;
  if (!written || !read || remote_reading) check_write(w, lane, c);
  c.written = past.last_sync;
  c.writer = static_cast<std::uint16_t>(thread);
}

void shared_memory::read(warp& w, unsigned lane, std::size_t offset, std::size_t bytes) {
  if (cells_.empty()) return;
  if (owner_ != w.block) record_remote(w, lane);
  for (cell& c : cells_of(offset, bytes)) read_cell(w, lane, c);
}

void shared_memory::write(warp& w, unsigned lane, std::size_t offset, std::size_t bytes) {
  if (cells_.empty()) return;
  if (owner_ != w.block) record_remote(w, lane);
  for (cell& c : cells_of(offset, bytes)) write_cell(w, lane, c);
  merge_line(offset, bytes);
}

void shared_memory::start_copy(warp& w, unsigned lane, std::size_t offset, std::size_t bytes) {
  if (cells_.empty()) return;
  write(w, lane, offset, bytes);
  if (!races_) return;
  for (cell& c : cells_of(offset, bytes)) {
    c.written = ~moment{0};
    c.writer = copy_in_flight;
  }
}

void shared_memory::land_copy(warp& w, unsigned lane, std::size_t offset, std::size_t bytes) {
  if (cells_.empty()) return;
  for (cell& c : cells_of(offset, bytes)) {
    c.written = w.past.last_sync;
    c.writer = static_cast<std::uint16_t>(w.first_thread | lane);
  }
}

}  // namespace ptx
