// SPDX-License-Identifier: Apache-2.0
// A cold L2 cache for the next timed call.
#pragma once

#include "device.hpp"

#include <cstdint>

namespace bench {

// Fills the L2 cache with memory that nobody else uses. It only reads: what it wrote would still
// lie in the cache, and go back to memory while the next call is timed. The device is busy with it
// while the host enqueues the call, so events around the call measure its work and not the latency
// of its launches.
class l2_flush {
 public:
  l2_flush();
  void operator()() const;

 private:
  device_buffer<std::uint32_t> memory_, found_;
};

}  // namespace bench
