// SPDX-License-Identifier: Apache-2.0
// Detects races in global memory between the threads of a launch. Barriers order accesses within a
// cluster; accesses by different clusters are never ordered.
#pragma once

#include "cell.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ptx {

class global_races {
 public:
  // Every access is a multiple of `grain` bytes, a power of two.
  explicit global_races(std::size_t grain);

  // Throw fault if the access is a race.
  void read(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes);
  void write(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes);
  // Clears the history when the clock restarts.
  void clear_history();

 private:
  cell& at(std::uint64_t address);
  [[noreturn]] void fail_race(warp const& w, unsigned lane, std::uint64_t address, char const* verb,
                              std::string const& other_thread, char const* other_verb) const;

  unsigned grain_shift_ = 0;  // log2 of the grain
  std::unordered_map<std::uint64_t, std::vector<cell>> pages_;
  std::uint64_t last_page_index_ = ~std::uint64_t{0};
  std::vector<cell>* last_page_ = nullptr;
};

}  // namespace ptx
