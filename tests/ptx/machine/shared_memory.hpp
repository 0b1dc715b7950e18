// SPDX-License-Identifier: Apache-2.0
// A block's shared memory, and who did what with it.
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
struct watch;

enum class doing : std::uint8_t { read, write };

class shared_memory {
 public:
  // For a launch of a kernel with these accesses.
  void prepare(block& owner, std::size_t bytes, access_widths const& widths, watch const& watched);
  // At a block's start; memory then holds anything.
  void start(unsigned char anything);
  // Moments begin anew.
  void forget();
  // At its end, by the last warp.
  void end(warp const& last);

  std::size_t size() const { return bytes_.size(); }
  unsigned char* data() { return bytes_.data(); }

  // Accesses of bytes that are inside and aligned. They throw fault if it is a race, or a read of
  // what nobody wrote.
  void read(warp& w, unsigned lane, std::size_t at, std::size_t bytes);
  void write(warp& w, unsigned lane, std::size_t at, std::size_t bytes);
  // By lanes of the block's own warps, in turn.
  template <std::size_t Bytes, doing What>
  void note(warp& w, std::array<std::uint32_t, warp_lanes> const& at, lane_mask active);
  // A read of which each of `lanes` gets a part; at least two of them, so that a lane that wrote
  // there itself does not go unnoticed.
  void read_together(warp& w, lane_mask lanes, std::size_t at, std::size_t bytes);
  // Until the copy has landed nobody must touch these bytes.
  void start_copy(warp& w, unsigned lane, std::size_t at, std::size_t bytes);
  void land_copy(warp& w, unsigned lane, std::size_t at, std::size_t bytes);

 private:
  void visit(warp const& w, unsigned lane);
  // Of a warp, what the usual case depends on.
  struct glance {
    moment born, calm, block_calm, now;
    unsigned first_thread;
    std::uint16_t mine, several;
  };
  // False where it is not the usual case, and nothing was noted.
  static bool note_read(glance const& g, cell& c, unsigned lane);
  static bool note_write(glance const& g, cell& c, unsigned lane);
  void read_cell(warp& w, unsigned lane, cell& c);
  void write_cell(warp& w, unsigned lane, cell& c);
  struct cells {
    cell *first, *last;
    cell* begin() const { return first; }
    cell* end() const { return last; }
  };
  cells cells_of(std::size_t at, std::size_t bytes);
  void spread(std::size_t line);
  void gather(std::size_t at, std::size_t bytes);
  std::size_t number(cell const& c) const { return static_cast<std::size_t>(&c - cells_.data()); }
  static bool is_settled(warp const& w, cell const& c);
  void add_readers(warp& w, cell& c, lane_mask lanes);
  void check_read(warp& w, unsigned lane, cell const& c) const;
  void check_write(warp& w, unsigned lane, cell const& c) const;
  [[noreturn]] void race(warp const& w, unsigned lane, cell const& c, char const* does,
                         std::string const& who, char const* did) const;

  block* owner_ = nullptr;
  std::uint16_t several_ = 0;  // warps of the owner
  std::vector<unsigned char> bytes_;
  std::vector<cell> cells_;  // one for each grain; empty: nothing is watched
  // For each 16 bytes whether their first cell speaks for all, as they were written at once and
  // since then only read at once. Empty: cells speak for themselves.
  std::vector<unsigned char> whole_;
  std::vector<reading> far_;     // by other blocks of the cluster
  std::vector<writing> visits_;  // the last access by each block of the cluster
  unsigned shift_ = 0;           // log2 of the grain
  bool races_ = true, unwritten_ = true;
};

inline bool shared_memory::is_settled(warp const& w, cell const& c) {
  order const& past = w.past;
  // Modulo 2^32, what was written before `born` is not below.
  moment const age = c.written - past.born;
  return age < past.calm - past.born ||
         (age < past.block_calm - past.born &&
          block_of_thread(c.writer) == block_of_thread(w.first_thread));
}

inline void shared_memory::add_readers(warp& w, cell& c, lane_mask lanes) {
  order const& past = w.past;
  auto const mine = static_cast<std::uint16_t>(w.first_thread >> 5);
  if (c.read < past.block_calm) {
    c.read = past.now;
    c.reader = mine;
    c.lanes = lanes;
  } else if (c.reader != mine) {
    c.read = std::max(c.read, past.now);
    c.reader = several_;
  } else if (c.read == past.now) {
    c.lanes |= lanes;
  } else {
    for (lane_mask rest = lanes; rest != 0; rest &= rest - 1)
      c.set(joined(w, static_cast<unsigned>(__builtin_ctz(rest)), c.last_reading()));
  }
}

inline shared_memory::cells shared_memory::cells_of(std::size_t at, std::size_t bytes) {
  cell* const first = &cells_[at >> shift_];
  if (!whole_.empty() && whole_[at / 16] != 0) {
    if (bytes == 16) return {first, first + 1};
    spread(at / 16);
  }
  return {first, first + (bytes >> shift_)};
}

// After a write. What had been read before has been seen to come before it.
inline void shared_memory::gather(std::size_t at, std::size_t bytes) {
  if (bytes != 16 || whole_.empty()) return;
  cells_[at >> shift_].read = 0;
  whole_[at / 16] = 1;
}

// What is usual is seen at a glance: since the last barrier nobody has written the bytes, or the
// thread itself.
inline bool shared_memory::note_read(glance const& g, cell& c, unsigned lane) {
  bool const settled = c.written - g.born < g.calm - g.born ||
                       (c.writer == (g.first_thread | lane) && c.written >= g.born);
  if (!settled) return false;
  if (c.read < g.block_calm) {
    c.read = g.now;
    c.lanes = lane_mask{1} << lane;
    c.reader = g.mine;
  } else if (c.reader == g.several) {
    c.read = std::max(c.read, g.now);
  } else if (c.read == g.now && c.reader == g.mine) {
    c.lanes |= lane_mask{1} << lane;
  } else {
    return false;
  }
  return true;
}

inline bool shared_memory::note_write(glance const& g, cell& c, unsigned lane) {
  bool const settled = c.written < g.calm || c.writer == (g.first_thread | lane);
  bool const unread = c.read < g.calm || (c.reader == g.mine && c.lanes == lane_mask{1} << lane);
  if (!settled || !unread) return false;
  c.written = g.now;
  c.writer = static_cast<std::uint16_t>(g.first_thread | lane);
  return true;
}

template <std::size_t Bytes, doing What>
void shared_memory::note(warp& w, std::array<std::uint32_t, warp_lanes> const& at,
                         lane_mask active) {
  if (cells_.empty()) return;
  glance const g{w.past.born, w.past.calm,    w.past.block_calm,
                 w.past.now,  w.first_thread, static_cast<std::uint16_t>(warp_of(w.first_thread)),
                 several_};
  bool const far = What == doing::write && !far_.empty();
  auto const one = [&](unsigned l) {
    for (cell& c : cells_of(at[l], Bytes)) {
      if (What == doing::read) {
        if (!note_read(g, c, l)) read_cell(w, l, c);
      } else {
        if (far || !note_write(g, c, l)) write_cell(w, l, c);
      }
    }
    if (What == doing::write) gather(at[l], Bytes);
  };
  if (active == all_lanes)
    for (unsigned l = 0; l < warp_lanes; ++l) one(l);
  else
    for (lane_mask rest = active; rest != 0; rest &= rest - 1)
      one(static_cast<unsigned>(__builtin_ctz(rest)));
}

inline void shared_memory::read_together(warp& w, lane_mask lanes, std::size_t at,
                                         std::size_t bytes) {
  if (cells_.empty()) return;
  for (cell& c : cells_of(at, bytes)) {
    if (!is_settled(w, c))
      for (lane_mask rest = lanes; rest != 0; rest &= rest - 1)
        check_read(w, static_cast<unsigned>(__builtin_ctz(rest)), c);
    add_readers(w, c, lanes);
  }
}

}  // namespace ptx
