// SPDX-License-Identifier: Apache-2.0
// Runs a grid of a kernel. This header, counters.hpp, device_memory.hpp and module.hpp are all that
// a runtime needs.
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

// A fault that is planted, to see whether it is noticed: the kernel runs without one of its
// synchronizations (see instruction::synchronization).
struct removed_synchronization {
  std::string kernel;  // mangled name; empty: none
  int number = -1;
};

// What the machine watches beside bounds and alignment, and how it runs.
struct watch {
  bool shared_races = true;
  bool global_races = false;     // between the threads of a launch; slow
  bool unwritten_shared = true;  // reads of shared memory that nobody wrote
  bool count_memory = false;     // wavefronts and sectors
  unsigned threads = 1;          // of the host, each with clusters of its own
};

struct launch {
  extent grid, block;
  unsigned cluster = 1;                   // blocks, along x
  std::size_t shared_bytes = 0;           // dynamic
  std::vector<unsigned char> parameters;  // kernel::parameter_bytes
  std::uint64_t seed =
      1;  // of what a device leaves open: order of warps, arrival of copies, garbage
  watch watched;
  removed_synchronization removed;
};

// Why a device of these limits would refuse the launch; empty: it would not. `opted_in` is the
// kernel's cudaFuncAttributeMaxDynamicSharedMemorySize.
std::string refusal(kernel const& k, launch const& how, device_limits const& device,
                    std::size_t opted_in);

// Throws fault. Several launches may run at a time.
counters run(kernel const& k, launch const& how);

}  // namespace ptx
