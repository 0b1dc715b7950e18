// SPDX-License-Identifier: Apache-2.0
// Cases against each other: all are alive at once and every round times each of them, so that
// whatever else the machine does affects all alike.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

struct arena_options {
  unsigned rounds = 6;
  double seconds_of_a_round = 0.03;  // spent on a case whose calls are too short to time alone
  // Before every round a line is read from stdin, so that another program can measure between ours.
  bool wait_for_rounds = false;
};

// Runs the cases whose names match and prints JSON, an object a line: the context, what is being
// done, and at the end a case each. Returns how many cases that was.
std::size_t run_arena(std::string const& filter, arena_options const& options);

}  // namespace bench
