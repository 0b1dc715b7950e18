// SPDX-License-Identifier: Apache-2.0
// Logs the kernels that the process ran, if SLICESORT_PTX_LOG names a folder.
#pragma once

#include "../machine/counters.hpp"
#include "../module/kernel.hpp"

namespace ptx::runtime {

// Adds a launch to the tables that are written at the end of the process:
// <log>/<program>-<process>.tsv has a line "# device sm_90", a line of column names, and a line for
// each kernel. <program>-<process>.synchronizations.tsv lists the synchronizations that
// SLICESORT_PTX_REMOVE can remove. With SLICESORT_PTX_COUNT_MEMORY,
// <program>-<process>.instructions.tsv has the number of warps that executed each instruction.
void log_launch(kernel const& k, counters const& counts, double seconds);

}  // namespace ptx::runtime
