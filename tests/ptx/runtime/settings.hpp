// SPDX-License-Identifier: Apache-2.0
// Settings of the PTX machine from environment variables, which docs/ptx_machine describes.
#pragma once

#include "../machine/launch.hpp"

#include <string>

namespace ptx::runtime {

struct settings {
  device_limits device = sm_90;     // SLICESORT_PTX_DEVICE, SLICESORT_PTX_SHARED
  std::string log;                  // SLICESORT_PTX_LOG: a folder; empty: no log
  removed_synchronization removed;  // SLICESORT_PTX_REMOVE
  machine_options options;          // SLICESORT_PTX_THREADS, _COUNT_MEMORY, _GLOBAL_RACES
  bool abort_at_fault = false;      // SLICESORT_PTX_ABORT
};

// Reads the environment once. An invalid value ends the process.
settings const& current_settings();

}  // namespace ptx::runtime
