// SPDX-License-Identifier: Apache-2.0
#include "global_races.hpp"

#include "../machine/warp.hpp"

#include <cstdio>

namespace ptx {

namespace {

constexpr unsigned page_shift = 12;                 // log2 of the bytes of a page
constexpr std::uint16_t several_clusters = 0xc000;  // reader code

}  // namespace

global_races::global_races(std::size_t grain) {
  while ((std::size_t{1} << shift_) < grain) ++shift_;
}

void global_races::reset() {
  pages_.clear();
  last_page_ = ~std::uint64_t{0};
}

cell& global_races::at(std::uint64_t address) {
  std::uint64_t const number = address >> page_shift;
  if (number != last_page_) {
    std::vector<cell>& page = pages_[number];
    if (page.empty()) page.resize(std::size_t{1} << (page_shift - shift_));
    last_page_ = number;
    last_ = &page;
  }
  return (*last_)[(address & ((std::uint64_t{1} << page_shift) - 1)) >> shift_];
}

void global_races::race(warp const& w, unsigned lane, std::uint64_t address, char const* verb,
                        std::string const& other_thread, char const* other_verb) const {
  w.fail(std::string("race in global memory: it ") + verb + " what " + other_thread + " " +
             other_verb + ", and nothing orders the two",
         lane, address);
}

void global_races::read(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes) {
  for (std::uint64_t a = address; a < address + bytes; a += std::uint64_t{1} << shift_) {
    cell& c = at(a);
    if (c.written != 0) {
      if (c.written < w.past.cluster_begin) race(w, lane, a, "reads", "another block", "wrote");
      if (!came_before(w, lane, c.written, c.writer))
        race(w, lane, a, "reads", name_of_thread(w, c.writer), "wrote");
    }
    bool const by_other_clusters =
        c.read != 0 && (c.read < w.past.cluster_begin || c.reader == several_clusters);
    c.set(by_other_clusters ? reading{w.past.last_sync, 0, several_clusters}
                            : with_reader(w, lane, c.last_reading()));
  }
}

void global_races::write(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes) {
  for (std::uint64_t a = address; a < address + bytes; a += std::uint64_t{1} << shift_) {
    cell& c = at(a);
    if (c.written != 0) {
      if (c.written < w.past.cluster_begin) race(w, lane, a, "writes", "another block", "wrote");
      if (!came_before(w, lane, c.written, c.writer))
        race(w, lane, a, "writes", name_of_thread(w, c.writer), "wrote");
    }
    if (c.read != 0) {
      if (c.read < w.past.cluster_begin || c.reader == several_clusters)
        race(w, lane, a, "writes", "another block", "read");
      if (!came_before(w, lane, c.last_reading()))
        race(w, lane, a, "writes", name_of_readers(w, c.last_reading(), w.first_thread | lane),
             "read");
    }
    c.written = w.past.last_sync;
    c.writer = static_cast<std::uint16_t>(w.first_thread | lane);
  }
}

}  // namespace ptx
