// SPDX-License-Identifier: Apache-2.0
// What the environment asks of the PTX machine. docs/ptx_machine lists the variables.
#pragma once

#include "../machine/launch.hpp"

#include <string>

namespace ptx::runtime {

struct settings {
  device_limits device = sm_90;     // SLICESORT_PTX_DEVICE, SLICESORT_PTX_SHARED
  std::string log;                  // SLICESORT_PTX_LOG: a folder; empty: no log
  removed_synchronization removed;  // SLICESORT_PTX_REMOVE
  watch watched;                    // SLICESORT_PTX_THREADS, _COUNT_MEMORY, _GLOBAL_RACES
  bool abort_at_fault = false;      // SLICESORT_PTX_ABORT
};

// Read once. A variable that makes no sense ends the process: it would have been ignored.
settings const& asked();

}  // namespace ptx::runtime
