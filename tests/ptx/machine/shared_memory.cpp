// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.hpp"

#include "cluster.hpp"

#include <algorithm>
#include <string>

namespace ptx {

void shared_memory::prepare(block& owner, std::size_t bytes, access_widths const& widths,
                            machine_options const& options) {
  std::size_t const grain = widths.shared;
  owner_ = &owner;
  several_warps_of_block_ = static_cast<std::uint16_t>(several_warps | owner.rank << 5);
  check_races_ = options.shared_races;
  check_unwritten_ = options.unwritten_shared;
  bytes_.resize(bytes);
  for (grain_shift_ = 0; (std::size_t{1} << grain_shift_) < grain;) ++grain_shift_;
  if (check_races_ || check_unwritten_) cells_.resize((bytes + grain - 1) >> grain_shift_);
  if (owner.cluster->blocks.size() > 1) {
    remote_reads_.resize(cells_.size());
    remote_accesses_.resize(owner.cluster->blocks.size());
  } else if (widths.shared_lines && grain < 16 && !cells_.empty()) {
    cells_.resize((bytes + 15) / 16 * (16 >> grain_shift_));
    uniform_lines_.resize((bytes + 15) / 16);
  }
}

void shared_memory::begin_block(unsigned char garbage_tensor) {
  std::fill(bytes_.begin(), bytes_.end(), garbage_tensor);
  std::fill(remote_accesses_.begin(), remote_accesses_.end(), write_record{});
  std::fill(uniform_lines_.begin(), uniform_lines_.end(), static_cast<unsigned char>(1));
}

void shared_memory::clear_history() {
  std::fill(cells_.begin(), cells_.end(), cell{});
  std::fill(remote_reads_.begin(), remote_reads_.end(), read_record{});
}

void shared_memory::end_block(warp const& last) {
  for (write_record const& access : remote_accesses_)
    if (access.time >= last.sync.cluster_begin && !came_before(last, 0, access.time, access.writer))
      last.fail("the block leaves the cluster, and no barrier is between this and an access of " +
                describe_thread(last, access.writer) + " to its shared memory");
}

void shared_memory::record_remote(warp const& w, unsigned lane) {
  if (owner_->running_warps == 0)
    w.fail("shared memory of block " + std::to_string(owner_->rank) +
               " of the cluster, which has ended",
           lane, 0);
  remote_accesses_[w.block->rank] = {w.sync.last_sync,
                                     static_cast<std::uint16_t>(w.first_thread | lane)};
}

void shared_memory::split_line(std::size_t line) {
  auto const first = cells_.begin() + static_cast<std::ptrdiff_t>(line * (16 >> grain_shift_));
  std::fill(first + 1, first + (16 >> grain_shift_), *first);
  uniform_lines_[line] = 0;
}

void shared_memory::fail_race(warp const& w, unsigned lane, cell const& c, char const* verb,
                              std::string const& other_thread, char const* other_verb) const {
  w.fail("race at byte " + std::to_string(index_of(c) << grain_shift_) +
         " of shared memory: " + describe_thread(w, w.first_thread | lane) + " " + verb + " what " +
         other_thread + " " + other_verb + ", and nothing orders the two");
}

void shared_memory::check_read(warp& w, unsigned lane, cell const& c) const {
  if (c.write_time < w.sync.cluster_begin) {
    if (check_unwritten_)
      w.fail(describe_thread(w, w.first_thread | lane) + " reads byte " +
             std::to_string(index_of(c) << grain_shift_) +
             " of shared memory, which was never written");
    return;
  }
  if (!check_races_) return;
  if (c.writer == copy_in_flight)
    fail_race(w, lane, c, "reads", "an asynchronous copy", "is still writing");
  if (!came_before(w, lane, c.write_time, c.writer))
    fail_race(w, lane, c, "reads", describe_thread(w, c.writer), "wrote");
}

void shared_memory::check_write(warp& w, unsigned lane, cell const& c) const {
  if (!check_races_) return;
  if (c.write_time >= w.sync.cluster_begin) {
    if (c.writer == copy_in_flight)
      fail_race(w, lane, c, "writes", "an asynchronous copy", "is still writing");
    if (!came_before(w, lane, c.write_time, c.writer))
      fail_race(w, lane, c, "writes", describe_thread(w, c.writer), "wrote");
  }
  auto const check = [&](read_record const& r) {
    if (r.time >= w.sync.cluster_begin && !came_before(w, lane, r))
      fail_race(w, lane, c, "writes", describe_readers(w, r, w.first_thread | lane), "read");
  };
  check(c.last_read());
  if (!remote_reads_.empty()) check(remote_reads_[index_of(c)]);
}

void shared_memory::read_cell(warp& w, unsigned lane, cell& c) {
  unsigned const thread = w.first_thread | lane;
  if (!is_settled(w, c) && !(c.writer == thread && c.write_time >= w.sync.cluster_begin))
    check_read(w, lane, c);
  if (owner_ == w.block) {
    add_readers(w, c, lane_mask{1} << lane);
  } else {
    read_record& r = remote_reads_[index_of(c)];
    r = with_reader(w, lane, r);
  }
}

void shared_memory::write_cell(warp& w, unsigned lane, cell& c) {
  sync_state const& sync = w.sync;
  unsigned const thread = w.first_thread | lane;
  timestamp const block_or_cluster_ordered =
      owner_ == w.block ? sync.block_ordered : sync.cluster_ordered;
  bool const write_ordered =
      c.writer == thread || c.write_time < sync.cluster_begin || is_settled(w, c);
  bool const reads_ordered = c.read_time < block_or_cluster_ordered ||
                             (c.reader == thread >> 5 && c.reader_lanes == lane_mask{1} << lane);
  bool const has_remote_read =
      !remote_reads_.empty() && remote_reads_[index_of(c)].time >= sync.cluster_ordered;
  if (!write_ordered || !reads_ordered || has_remote_read) check_write(w, lane, c);
  c.write_time = sync.last_sync;
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
  if (!check_races_) return;
  for (cell& c : cells_of(offset, bytes)) {
    c.write_time = ~timestamp{0};
    c.writer = copy_in_flight;
  }
}

void shared_memory::complete_copy(warp& w, unsigned lane, std::size_t offset, std::size_t bytes) {
  if (cells_.empty()) return;
  for (cell& c : cells_of(offset, bytes)) {
    c.write_time = w.sync.last_sync;
    c.writer = static_cast<std::uint16_t>(w.first_thread | lane);
  }
}

}  // namespace ptx
