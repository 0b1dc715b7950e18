// SPDX-License-Identifier: Apache-2.0
// The asynchronous copies of one thread on the block executor. A device may make a copy at any time
// between its start and the end of the wait for it; here it is made at one of these two moments, by
// lot. Late copies are missed by who does not wait; early ones overwrite what others still read.
#pragma once

#include "support/inputs.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

namespace support {

class pending_copies {
 public:
  explicit pending_copies(random_stream lot) : lot_(lot) {}

  // Of `bytes` to a place of 16; the rest of it becomes 0.
  void start(void* to, void const* from, int bytes) {
    copy const one{to, from, bytes};
    if (lot_.below(2) == 0)
      make(one);
    else
      late_.push_back(one);
  }
  void await() {
    for (copy const& one : late_) make(one);
    late_.clear();
  }

 private:
  struct copy {
    void* to;
    void const* from;
    int bytes;
  };

  static void make(copy const& one) {
    std::memset(one.to, 0, 16);
    if (one.bytes != 0) std::memcpy(one.to, one.from, static_cast<std::size_t>(one.bytes));
  }

  random_stream lot_;
  std::vector<copy> late_;
};

}  // namespace support
