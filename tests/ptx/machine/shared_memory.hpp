// SPDX-License-Identifier: Apache-2.0
// A block's shared memory and the history of its accesses.
#pragma once

#include "../watch/cell.hpp"
#include "warp.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

struct block;
struct machine_options;

enum class access_kind : std::uint8_t { read, write };

class shared_memory {
 public:
  // Allocates memory for launches of a kernel with these access widths.
  void prepare(block& owner, std::size_t bytes, access_widths const& widths,
               machine_options const& options);
  // Fills memory with `garbage`.
  void begin_block(unsigned char garbage_tensor);
  // Called when the clock restarts.
  void clear_history();
  // Throws fault if another block of the cluster may still access this memory. `last` is the last
  // warp of the block.
  void end_block(warp const& last);

  std::size_t size() const { return bytes_.size(); }
  unsigned char* data() { return bytes_.data(); }

  // Record an aligned access within bounds. Throw fault for a race or a read of unwritten memory.
  void read(warp& w, unsigned lane, std::size_t offset, std::size_t bytes);
  void write(warp& w, unsigned lane, std::size_t offset, std::size_t bytes);
  // Records the accesses of the active lanes of a warp of this block, in order.
  template <std::size_t Bytes, access_kind Kind>
  void record(warp& w, std::array<std::uint32_t, warp_lanes> const& offsets, lane_mask active);
  // Records a read whose result is distributed to at least two `lanes`. An unordered write by one
  // of them is therefore a race, too.
  void read_together(warp& w, lane_mask lanes, std::size_t offset, std::size_t bytes);
  // Any other access to the bytes between the start and the completion of a copy is a race.
  void start_copy(warp& w, unsigned lane, std::size_t offset, std::size_t bytes);
  void complete_copy(warp& w, unsigned lane, std::size_t offset, std::size_t bytes);

 private:
  void record_remote(warp const& w, unsigned lane);
  // Copies of a warp's members for the fast path of record().
  struct warp_state {
    timestamp cluster_begin, cluster_ordered, block_ordered, last_sync;
    unsigned first_thread;
    std::uint16_t warp, several_warps_of_block;
  };
  // Fast path. Returns false and changes nothing if the full check is needed.
  static bool record_read(warp_state const& state, cell& c, unsigned lane);
  static bool record_write(warp_state const& state, cell& c, unsigned lane);
  void read_cell(warp& w, unsigned lane, cell& c);
  void write_cell(warp& w, unsigned lane, cell& c);
  struct cell_range {
    cell *first, *last;
    cell* begin() const { return first; }
    cell* end() const { return last; }
  };
  cell_range cells_of(std::size_t offset, std::size_t bytes);
  void split_line(std::size_t line);
  void merge_line(std::size_t offset, std::size_t bytes);
  std::size_t index_of(cell const& c) const { return static_cast<std::size_t>(&c - cells_.data()); }
  // True if the last write is ordered before the warp's next access.
  static bool is_settled(warp const& w, cell const& c);
  void add_readers(warp& w, cell& c, lane_mask lanes);
  void check_read(warp& w, unsigned lane, cell const& c) const;
  void check_write(warp& w, unsigned lane, cell const& c) const;
  [[noreturn]] void fail_race(warp const& w, unsigned lane, cell const& c, char const* verb,
                              std::string const& other_thread, char const* other_verb) const;

  block* owner_ = nullptr;
  std::uint16_t several_warps_of_block_ = 0;  // reader code: several warps of this block
  std::vector<unsigned char> bytes_;
  std::vector<cell> cells_;  // one per grain; empty: nothing is checked
  // Per 16-byte line: 1 if its first cell holds the history of all, because the last write and all
  // reads since covered the whole line. Empty: every grain has its own cell.
  std::vector<unsigned char> uniform_lines_;
  std::vector<read_record> remote_reads_;      // by other blocks of the cluster, per cell
  std::vector<write_record> remote_accesses_;  // last access by each block of the cluster
  unsigned grain_shift_ = 0;                   // log2 of the grain
  bool check_races_ = true, check_unwritten_ = true;
};

inline bool shared_memory::is_settled(warp const& w, cell const& c) {
  sync_state const& sync = w.sync;
  // Modulo 2^32, a write before `cluster_begin` has a large age.
  timestamp const age = c.write_time - sync.cluster_begin;
  return age < sync.cluster_ordered - sync.cluster_begin ||
         (age < sync.block_ordered - sync.cluster_begin &&
          block_of_thread(c.writer) == block_of_thread(w.first_thread));
}

inline void shared_memory::add_readers(warp& w, cell& c, lane_mask lanes) {
  sync_state const& sync = w.sync;
  auto const reader = static_cast<std::uint16_t>(w.first_thread >> 5);
  if (c.read_time < sync.block_ordered) {
    c.read_time = sync.last_sync;
    c.reader = reader;
    c.reader_lanes = lanes;
  } else if (c.reader != reader) {
    c.read_time = std::max(c.read_time, sync.last_sync);
    c.reader = several_warps_of_block_;
  } else if (c.read_time == sync.last_sync) {
    c.reader_lanes |= lanes;
  } else {
    for (lane_mask rest = lanes; rest != 0; rest &= rest - 1)
      c.set(with_reader(w, static_cast<unsigned>(__builtin_ctz(rest)), c.last_read()));
  }
}

inline shared_memory::cell_range shared_memory::cells_of(std::size_t offset, std::size_t bytes) {
  cell* const first = &cells_[offset >> grain_shift_];
  if (!uniform_lines_.empty() && uniform_lines_[offset / 16] != 0) {
    if (bytes == 16) return {first, first + 1};
    split_line(offset / 16);
  }
  return {first, first + (bytes >> grain_shift_)};
}

// Marks a line as uniform after a write of 16 bytes. Earlier reads are ordered before that write.
inline void shared_memory::merge_line(std::size_t offset, std::size_t bytes) {
  if (bytes != 16 || uniform_lines_.empty()) return;
  cells_[offset >> grain_shift_].read_time = 0;
  uniform_lines_[offset / 16] = 1;
}

// Common case: since the last barrier no thread, or only this one, has written the bytes.
inline bool shared_memory::record_read(warp_state const& state, cell& c, unsigned lane) {
  bool const settled =
      c.write_time - state.cluster_begin < state.cluster_ordered - state.cluster_begin ||
      (c.writer == (state.first_thread | lane) && c.write_time >= state.cluster_begin);
  if (!settled) return false;
  if (c.read_time < state.block_ordered) {
    c.read_time = state.last_sync;
    c.reader_lanes = lane_mask{1} << lane;
    c.reader = state.warp;
  } else if (c.reader == state.several_warps_of_block) {
    c.read_time = std::max(c.read_time, state.last_sync);
  } else if (c.read_time == state.last_sync && c.reader == state.warp) {
    c.reader_lanes |= lane_mask{1} << lane;
  } else {
    return false;
  }
  return true;
}

inline bool shared_memory::record_write(warp_state const& state, cell& c, unsigned lane) {
  bool const settled =
      c.write_time < state.cluster_ordered || c.writer == (state.first_thread | lane);
  bool const unread = c.read_time < state.cluster_ordered ||
                      (c.reader == state.warp && c.reader_lanes == lane_mask{1} << lane);
  if (!settled || !unread) return false;
  c.write_time = state.last_sync;
  c.writer = static_cast<std::uint16_t>(state.first_thread | lane);
  return true;
}

template <std::size_t Bytes, access_kind Kind>
void shared_memory::record(warp& w, std::array<std::uint32_t, warp_lanes> const& offsets,
                           lane_mask active) {
  if (cells_.empty()) return;
  warp_state const state{
      w.sync.cluster_begin,   w.sync.cluster_ordered,
      w.sync.block_ordered,   w.sync.last_sync,
      w.first_thread,         static_cast<std::uint16_t>(warp_of(w.first_thread)),
      several_warps_of_block_};
  bool const has_remote_reads = Kind == access_kind::write && !remote_reads_.empty();
  auto const record_lane = [&](unsigned lane) {
    for (cell& c : cells_of(offsets[lane], Bytes)) {
      if (Kind == access_kind::read) {
        if (!record_read(state, c, lane)) read_cell(w, lane, c);
      } else {
        if (has_remote_reads || !record_write(state, c, lane)) write_cell(w, lane, c);
      }
    }
    if (Kind == access_kind::write) merge_line(offsets[lane], Bytes);
  };
  if (active == all_lanes)
    for (unsigned lane = 0; lane < warp_lanes; ++lane) record_lane(lane);
  else
    for (lane_mask rest = active; rest != 0; rest &= rest - 1)
      record_lane(static_cast<unsigned>(__builtin_ctz(rest)));
}

inline void shared_memory::read_together(warp& w, lane_mask lanes, std::size_t offset,
                                         std::size_t bytes) {
  if (cells_.empty()) return;
  for (cell& c : cells_of(offset, bytes)) {
    if (!is_settled(w, c))
      for (lane_mask rest = lanes; rest != 0; rest &= rest - 1)
        check_read(w, static_cast<unsigned>(__builtin_ctz(rest)), c);
    add_readers(w, c, lanes);
  }
}

}  // namespace ptx
