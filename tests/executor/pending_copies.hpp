// SPDX-License-Identifier: Apache-2.0
// The asynchronous copies of one thread on the block executor. A device may perform a copy at any
// time between its start and the end of the wait for it. The executor performs it at one of these
// two moments, at random: a late copy reveals a missing wait, an early one overwrites memory that
// others still read.
#pragma once

#include "support/inputs.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

namespace support {

class pending_copies {
 public:
  explicit pending_copies(random_stream random) : random_(random) {}

  // Copies `bytes` bytes to a destination of 16 bytes, and clears the rest of it.
  void start(void* to, void const* from, int bytes) {
    pending_copy const copy{to, from, bytes};
    if (random_.below(2) == 0)
      perform(copy);
    else
      deferred_.push_back(copy);
  }
  void await() {
    for (pending_copy const& copy : deferred_) perform(copy);
    deferred_.clear();
  }

 private:
  struct pending_copy {
    void* to;
    void const* from;
    int bytes;
  };

  static void perform(pending_copy const& copy) {
    std::memset(copy.to, 0, 16);
    if (copy.bytes != 0) std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
  }

  random_stream random_;
  std::vector<pending_copy> deferred_;
};

}  // namespace support
