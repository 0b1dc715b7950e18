// SPDX-License-Identifier: Apache-2.0
// Runs a grid of a kernel. A runtime needs only this header, counters.hpp, device_memory.hpp and
// module.hpp.
#pragma once

#include "../module/kernel.hpp"
#include "counters.hpp"
#include "fault.hpp"
#include "limits.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

struct extent {
  unsigned x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

// A mutation for negative tests: runs the kernel without one of its synchronizations.
struct removed_synchronization {
  std::string kernel;  // mangled name; empty: none
  int index = -1;      // instruction::synchronization
};

// Optional checks and counters. Bounds and alignment are always checked.
struct machine_options {
  bool shared_races = true;
  bool global_races = false;     // between the threads of a launch; slow
  bool unwritten_shared = true;  // reads of unwritten shared memory
  bool count_memory = false;     // wavefronts, sectors and executed instructions
  unsigned threads = 1;          // host threads that run the clusters
};

struct launch {
  extent grid, block;
  unsigned cluster = 1;                   // blocks of a cluster, along x
  std::size_t shared_bytes = 0;           // dynamic shared memory
  std::vector<unsigned char> parameters;  // kernel::parameter_bytes bytes
  std::uint64_t seed = 1;  // determines the order of warps, the time of copies, initial garbage
  machine_options options;
  removed_synchronization removed;
};

// Returns why a device with these limits rejects the launch; empty if it is valid. `opted_in` is
// cudaFuncAttributeMaxDynamicSharedMemorySize of the kernel.
std::string error_message(kernel const& k, launch const& config, device_limits const& device,
                          std::size_t opted_in);

// Throws fault. Thread-safe: several launches may run at the same time.
counters run(kernel const& k, launch const& config);

}  // namespace ptx
