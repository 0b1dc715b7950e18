// SPDX-License-Identifier: Apache-2.0
// Selects cases and runs them by Google Benchmark or by the arena.
#pragma once

#include "case.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace bench {

// Drops duplicate names and, if `dtypes` is not empty, cases of other element types.
void filter_cases(std::set<std::string> const& dtypes);

// Returns the cases whose name matches the filter (empty: all) and which this machine can run.
std::vector<bench_case const*> select_cases(std::string const& filter);

// Registers the selected cases with Google Benchmark and returns their number.
std::size_t register_cases(std::string const& filter);

// Prints the names of the selected cases.
void list_cases(std::string const& filter);

// Returns the number of cases that failed or differ from the oracle.
int failure_count();
// Counts a failed case and prints it on stderr.
void report_failure(std::string const& name, std::string const& failure);

// Makes `run_cases` print the current case on stderr every few seconds.
void show_progress();

// Runs the registered cases. Each is compared with the oracle before it is timed.
void run_cases();

// Adds a case of direction `training` for every pair of a forward and a backward case on text.
void add_training_cases();

// The arena times all cases once per round, so that disturbances of the machine affect all alike.
struct arena_options {
  unsigned rounds = 6;
  double seconds_per_round = 0.03;  // minimum per case; short calls are repeated
  bool wait_for_rounds = false;     // reads a line from stdin before every round
};
// Runs the selected cases and prints JSON objects, one a line: context, progress, results. Returns
// the number of cases.
std::size_t run_arena(std::string const& filter, arena_options const& options);

}  // namespace bench
