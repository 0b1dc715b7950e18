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
  while ((std::size_t{1} << grain_shift_) < grain) ++grain_shift_;
}

void global_races::clear_history() {
  pages_.clear();
  last_page_index_ = ~std::uint64_t{0};
}

cell& global_races::at(std::uint64_t address) {
  std::uint64_t const page_index = address >> page_shift;
  if (page_index != last_page_index_) {
    std::vector<cell>& page = pages_[page_index];
    if (page.empty()) page.resize(std::size_t{1} << (page_shift - grain_shift_));
    last_page_index_ = page_index;
    last_page_ = &page;
  }
  return (*last_page_)[(address & ((std::uint64_t{1} << page_shift) - 1)) >> grain_shift_];
}

void global_races::fail_race(warp const& w, unsigned lane, std::uint64_t address, char const* verb,
                             std::string const& other_thread, char const* other_verb) const {
  w.fail(std::string("race in global memory: it ") + verb + " what " + other_thread + " " +
             other_verb + ", and nothing orders the two",
         lane, address);
}

void global_races::read(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes) {
  for (std::uint64_t a = address; a < address + bytes; a += std::uint64_t{1} << grain_shift_) {
    cell& c = at(a);
    if (c.write_time != 0) {
      if (c.write_time < w.sync.cluster_begin)
        fail_race(w, lane, a, "reads", "another block", "wrote");
      if (!came_before(w, lane, c.write_time, c.writer))
        fail_race(w, lane, a, "reads", describe_thread(w, c.writer), "wrote");
    }
    bool const by_other_clusters =
        c.read_time != 0 && (c.read_time < w.sync.cluster_begin || c.reader == several_clusters);
    c.set(by_other_clusters ? read_record{w.sync.last_sync, 0, several_clusters}
                            : with_reader(w, lane, c.last_read()));
  }
}

void global_races::write(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes) {
  for (std::uint64_t a = address; a < address + bytes; a += std::uint64_t{1} << grain_shift_) {
    cell& c = at(a);
    if (c.write_time != 0) {
      if (c.write_time < w.sync.cluster_begin)
        fail_race(w, lane, a, "writes", "another block", "wrote");
      if (!came_before(w, lane, c.write_time, c.writer))
        fail_race(w, lane, a, "writes", describe_thread(w, c.writer), "wrote");
    }
    if (c.read_time != 0) {
      if (c.read_time < w.sync.cluster_begin || c.reader == several_clusters)
        fail_race(w, lane, a, "writes", "another block", "read");
      if (!came_before(w, lane, c.last_read()))
        fail_race(w, lane, a, "writes", describe_readers(w, c.last_read(), w.first_thread | lane),
                  "read");
    }
    c.write_time = w.sync.last_sync;
    c.writer = static_cast<std::uint16_t>(w.first_thread | lane);
  }
}

}  // namespace ptx
