// SPDX-License-Identifier: Apache-2.0
// Races in global memory between the threads of a launch: within a cluster its barriers order
// accesses, between clusters nothing does.
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
  // `grain`: all accesses are of so many bytes or of a multiple, a power of two.
  explicit global_races(std::size_t grain);

  // They throw fault if it is a race.
  void read(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes);
  void write(warp const& w, unsigned lane, std::uint64_t address, std::size_t bytes);
  // Moments begin anew; what happened before is not known any more.
  void forget();

 private:
  cell& at(std::uint64_t address);
  [[noreturn]] void race(warp const& w, unsigned lane, std::uint64_t address, char const* does,
                         std::string const& who, char const* did) const;

  unsigned shift_ = 0;  // log2 of the grain
  std::unordered_map<std::uint64_t, std::vector<cell>> pages_;
  std::uint64_t last_page_ = ~std::uint64_t{0};
  std::vector<cell>* last_ = nullptr;
};

}  // namespace ptx
