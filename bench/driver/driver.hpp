// SPDX-License-Identifier: Apache-2.0
// The way of the list of cases: to Google Benchmark, or into the arena.
#pragma once

#include "case.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace bench {

// Drops cases of other element types (none if the set is empty), and all but the first of a name.
void keep_cases(std::set<std::string> const& dtypes);

// Every case whose name matches (all if the filter is empty) and whose data can be had.
std::vector<bench_case const*> selected_cases(std::string const& filter);

// Registers every case whose name matches (all if the filter is empty) and whose data can be had,
// and returns how many those are. Nothing is allocated before a case runs.
std::size_t register_cases(std::string const& filter);

// Prints the names that match (all if the filter is empty).
void list_cases(std::string const& filter);

// How many cases were wrong or failed.
int failed_cases();
// Counts one more, and says so on stderr.
void note_failure(std::string const& name, std::string const& complaint);

// Says on stderr, every few seconds, which case is running.
void show_progress();

// Runs what was registered. Each is compared with the oracle before it is timed.
void run_cases();

// Adds a case of the direction `training` for every pair of a forward and a backward case on text:
// forward, which saves, and then backward, timed as one call.
void add_training_cases();

// The arena times cases against each other: all are alive at once and every round times each of
// them, so that whatever else the machine does affects all alike.
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
