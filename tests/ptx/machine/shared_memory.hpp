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
  // For a launch. `grain`: all accesses are of so many bytes or of a multiple, a power of two.
  void prepare(block& owner, std::size_t bytes, std::size_t grain, watch const& watched);
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
  static bool is_settled(warp const& w, cell const& c);
  void add_readers(warp& w, cell& c, lane_mask lanes);
  void check_read(warp& w, unsigned lane, std::size_t i) const;
  void check_write(warp& w, unsigned lane, std::size_t i) const;
  [[noreturn]] void race(warp const& w, unsigned lane, std::size_t i, char const* does,
                         std::string const& who, char const* did) const;

  block* owner_ = nullptr;
  std::uint16_t several_ = 0;  // warps of the owner
  std::vector<unsigned char> bytes_;
  std::vector<cell> cells_;      // one for each grain; empty: nothing is watched
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

inline void shared_memory::read(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  unsigned const thread = w.first_thread | lane;
  bool const own = owner_ == w.in;
  if (!own) visit(w, lane);
  for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i != end; ++i) {
    cell& c = cells_[i];
    if (!is_settled(w, c) && !(c.writer == thread && c.written >= w.past.born))
      check_read(w, lane, i);
    if (own)
      add_readers(w, c, lane_mask{1} << lane);
    else
      far_[i] = joined(w, lane, far_[i]);
  }
}

template <std::size_t Bytes, doing What>
void shared_memory::note(warp& w, std::array<std::uint32_t, warp_lanes> const& at,
                         lane_mask active) {
  if (cells_.empty()) return;
  // What is usual is seen at a glance: nobody has touched the bytes since the last barrier, or the
  // thread itself, or, of reads, its warp.
  moment const born = w.past.born, calm = w.past.calm, now = w.past.now;
  unsigned const first = w.first_thread, shift = shift_;
  auto const mine = static_cast<std::uint16_t>(first >> 5);
  cell* const cells = cells_.data();
  reading const* const far = far_.empty() ? nullptr : far_.data();
  auto const one = [&](unsigned l) {
    std::size_t i = at[l] >> shift;
    lane_mask const lane = lane_mask{1} << l;
    for (std::size_t const end = i + (Bytes >> shift); i != end; ++i) {
      cell& c = cells[i];
      if (What == doing::read) {
        bool const settled = c.written - born < calm - born;
        bool const by_itself = c.writer == (first | l) && c.written >= born;
        if (!settled && !by_itself) {
          read(w, l, i << shift, std::size_t{1} << shift);
        } else if (c.read < calm) {
          c.read = now, c.lanes = lane, c.reader = mine;
        } else if (c.read == now && c.reader == mine) {
          c.lanes |= lane;
        } else {
          add_readers(w, c, lane);
        }
      } else {
        bool const settled = c.written < calm || c.writer == (first | l);
        bool const unread = c.read < calm || (c.reader == mine && c.lanes == lane);
        if (!settled || !unread || far != nullptr) {
          write(w, l, i << shift, std::size_t{1} << shift);
        } else {
          c.written = now;
          c.writer = static_cast<std::uint16_t>(first | l);
        }
      }
    }
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
  for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i != end; ++i) {
    cell& c = cells_[i];
    if (!is_settled(w, c))
      for (lane_mask rest = lanes; rest != 0; rest &= rest - 1)
        check_read(w, static_cast<unsigned>(__builtin_ctz(rest)), i);
    add_readers(w, c, lanes);
  }
}

inline void shared_memory::write(warp& w, unsigned lane, std::size_t at, std::size_t bytes) {
  if (cells_.empty()) return;
  order const& past = w.past;
  unsigned const thread = w.first_thread | lane;
  bool const own = owner_ == w.in;
  if (!own) visit(w, lane);
  moment const calm_readers = own ? past.block_calm : past.calm;
  for (std::size_t i = at >> shift_, end = (at + bytes) >> shift_; i != end; ++i) {
    cell& c = cells_[i];
    bool const written = c.writer == thread || c.written < past.born || is_settled(w, c);
    bool const read =
        c.read < calm_readers || (c.reader == thread >> 5 && c.lanes == lane_mask{1} << lane);
    if (!written || !read || (!far_.empty() && far_[i].last >= past.calm)) check_write(w, lane, i);
    c.written = past.now;
    c.writer = static_cast<std::uint16_t>(thread);
  }
}

}  // namespace ptx
