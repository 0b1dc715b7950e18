// SPDX-License-Identifier: Apache-2.0
// The arena (driver.hpp): times cases round by round and prints the results as lines of JSON.
#include "backend.hpp"
#include "case.hpp"
#include "driver.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr double long_call_seconds = 0.05;  // calls of this length need no warm-up

struct arena_entry {
  bench_case const* definition = nullptr;
  std::string name;
  cold_run cold;
  std::unique_ptr<job> work;
  unsigned calls = 1;
  std::vector<double> seconds;  // per call, by round
};

std::string quote(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  std::ostringstream out;
  out << std::quoted(text);
  return out.str();
}

// Formats a number for JSON, which has no infinity and no NaN.
std::string format_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void print_line(std::string const& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

void print_progress(char const* step, std::string const& name, std::size_t done,
                    std::size_t total) {
  print_line("{\"step\": " + quote(step) + ", \"case\": " + quote(name) +
             ", \"done\": " + std::to_string(done) + ", \"of\": " + std::to_string(total) + '}');
}

// Prints Google Benchmark's description of the machine and the added context.
void print_context() {
  std::ostringstream out;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&std::cerr);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  std::string text = out.str() + "]}";
  std::replace(text.begin(), text.end(), '\n', ' ');
  print_line(text);
}

// `turn` is the number of the call of time_together that timed the entry.
void print_result(arena_entry const& entry, unsigned turn) {
  std::string line = "{\"name\": " + quote(entry.name);
  auto const add_field = [&](char const* key, double value) {
    line += std::string(", \"") + key + "\": " + format_number(value);
  };
  if (!entry.cold.failure.empty()) {
    print_line(line + ", \"failed\": " + quote(entry.cold.failure) + '}');
    return;
  }
  case_params const& params = entry.definition->params;
  job const& work = *entry.work;
  if (work.is_verified) add_field("max_error", entry.cold.error);
  if (entry.cold.peak_bytes) add_field("peak_bytes", static_cast<double>(*entry.cold.peak_bytes));
  add_field("saved_bytes", static_cast<double>(work.saved_bytes));
  add_field("workspace_bytes", static_cast<double>(work.workspace_bytes));
  add_field("traffic_bytes", static_cast<double>(work.traffic_bytes));
  add_field("flops", work.flops);
  add_field("copy_bytes_per_second", copy_bandwidth(params.threads));
  add_field("peak_flops_per_second", arithmetic_peak(params.dtype, params.threads));
  add_field("calls", entry.calls);
  if (turn > 0) add_field("turn", turn);  // not timed in the rounds of the first turn
  line += ", \"seconds\": [";
  for (std::size_t i = 0; i < entry.seconds.size(); ++i)
    line += (i == 0 ? "" : ", ") + format_number(entry.seconds[i]);
  print_line(line + "]}");
}

double time_in_round(arena_entry& entry, double seconds_per_round) {
  double const seconds_per_call =
      entry.seconds.empty() ? entry.cold.seconds : entry.seconds.front();
  double const calls = std::ceil(seconds_per_round / std::max(seconds_per_call, 1e-9));
  entry.calls = static_cast<unsigned>(std::min(std::max(calls, 1.0), 10000.0));
  if (seconds_per_call < long_call_seconds)
    entry.work->run();  // warms the caches, which other entries have used
  return time_calls(*entry.work, entry.calls);
}

// Times the entries that fit in memory together and returns the rest. A call may allocate, too.
std::vector<arena_entry*> time_together(std::vector<arena_entry*> const& entries,
                                        arena_options const& options, std::mt19937& random) {
  std::vector<arena_entry*> fitting, deferred;
  for (arena_entry* const entry : entries) try {
      if (!entry->work) entry->work = entry->definition->make(entry->definition->params);
      fitting.push_back(entry);
    } catch (std::bad_alloc const&) {
      deferred.push_back(entry);
    }
  for (unsigned round = 0; round < options.rounds && !fitting.empty(); ++round) {
    if (options.wait_for_rounds) {
      print_line("{\"step\": \"round\"}");
      std::string line;
      if (!std::getline(std::cin, line)) std::exit(1);
    }
    std::shuffle(fitting.begin(), fitting.end(), random);
    for (std::size_t i = 0; i < fitting.size(); ++i) {
      print_progress("timing", fitting[i]->name, round * fitting.size() + i,
                     options.rounds * fitting.size());
      try {
        fitting[i]->seconds.push_back(time_in_round(*fitting[i], options.seconds_per_round));
      } catch (std::bad_alloc const&) {
        fitting[i]->work.reset();
        fitting[i]->seconds.clear();
      }
    }
    auto const first_deferred = std::partition(
        fitting.begin(), fitting.end(), [](arena_entry const* entry) { return bool(entry->work); });
    deferred.insert(deferred.end(), first_deferred, fitting.end());
    fitting.erase(first_deferred, fitting.end());
  }
  if (fitting.empty()) {
    for (arena_entry* const entry : deferred) entry->cold.failure = "out of memory";
    return {};
  }
  return deferred;
}

}  // namespace

std::size_t run_arena(std::string const& filter, arena_options const& options) {
  limit_memory();
  print_context();
  std::vector<arena_entry> entries;
  for (bench_case const* const definition : select_cases(filter)) {
    entries.emplace_back();
    entries.back().definition = definition;
    entries.back().name = definition->params.name();
    // Measured and cached here, before any case holds memory.
    (void)copy_bandwidth(definition->params.threads);
    (void)arithmetic_peak(definition->params.dtype, definition->params.threads);
  }
  std::vector<arena_entry*> pending;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    print_progress("comparing", entries[i].name, i, entries.size());
    entries[i].cold = measure_cold_run(*entries[i].definition);
    if (entries[i].cold.failure.empty()) pending.push_back(&entries[i]);
  }
  std::mt19937 random(2024);
  for (unsigned turn = 0; !pending.empty(); ++turn) {
    std::vector<arena_entry*> deferred = time_together(pending, options, random);
    for (arena_entry* const entry : pending)
      if (entry->work) print_result(*entry, turn), entry->work.reset();
    pending = std::move(deferred);
  }
  for (arena_entry const& entry : entries)
    if (!entry.cold.failure.empty()) {
      if (entry.cold.failure != "out of memory") report_failure(entry.name, entry.cold.failure);
      print_result(entry, 0);
    }
  return entries.size();
}

}  // namespace bench
