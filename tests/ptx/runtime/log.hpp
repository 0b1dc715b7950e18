// SPDX-License-Identifier: Apache-2.0
// What the process ran, for who counts it: SLICESORT_PTX_LOG.
#pragma once

#include "../machine/counters.hpp"
#include "../module/kernel.hpp"

namespace ptx::runtime {

// At the end of the process tables are written. <log>/<program>-<process>.tsv: a line
// "# device sm_90", which limits launches were held to, a line of names, and one for each kernel
// that ran. <program>-<process>.synchronizations.tsv: what SLICESORT_PTX_REMOVE can remove of them.
// With SLICESORT_PTX_COUNT_MEMORY also <program>-<process>.instructions.tsv: how many warps
// executed each instruction that was executed.
void log_launch(kernel const& what, counters const& counted, double seconds);

}  // namespace ptx::runtime
