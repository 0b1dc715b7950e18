// SPDX-License-Identifier: Apache-2.0
// From the list of cases to Google Benchmark.
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

// Says on stderr, every few seconds, which case is running; Google Benchmark's table is left out.
void show_progress();

// Runs what was registered. Each is compared with the oracle before it is timed.
void run_cases();

}  // namespace bench
