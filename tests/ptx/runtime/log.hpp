// SPDX-License-Identifier: Apache-2.0
// What the process ran, for who counts it: SLICESORT_PTX_LOG.
#pragma once

#include "../machine/counters.hpp"

#include <string>

namespace ptx::runtime {

// At the end of the process a table <log>/<program>-<process>.tsv is written: a line "# device
// sm_90", which limits launches were held to, a line of names, and one for each kernel that ran.
void log_launch(std::string const& kernel, counters const& counted, double seconds);

}  // namespace ptx::runtime
