// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include "bandwidth.hpp"
#include "case.hpp"
#include "text.hpp"

#include <benchmark/benchmark.h>
#include <slicesort/detail/host/isa.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <vector>

namespace bench {
namespace {

using clock = std::chrono::steady_clock;

int failures = 0;
bool progress = false;
clock::time_point const program_start = clock::now();

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

void report_progress(std::string const& name) {
  static auto last = clock::now() - std::chrono::hours(1);
  if (!progress || seconds_since(last) < 3.0) return;
  last = clock::now();
  std::fprintf(stderr, "  [%4.0f s] %s\n", seconds_since(program_start), name.c_str());
}

// What is known of a case once it has run: the comparison happens once, however often it is timed.
struct outcome {
  std::optional<double> error;
  std::string complaint;
};
std::map<std::string, outcome>& outcomes() {
  static std::map<std::string, outcome> known;
  return known;
}

// The case's outcome; compares now if it was not compared before. `work` may be null.
outcome const& compared(bench_case const& c, std::string const& name, std::unique_ptr<job>& work) {
  outcome& o = outcomes()[name];
  bool const first = !o.error && o.complaint.empty();
  try {
    if (!work) work = c.make(c.at);
    if (first) {
      work->run();
      o.error = work->max_error();
      if (!(*o.error <= work->tolerance))
        o.complaint = "differs from the oracle by " + std::to_string(*o.error);
    }
  } catch (std::exception const& e) {
    o.complaint = e.what();
  }
  if (first && !o.complaint.empty()) {
    ++failures;
    std::fprintf(stderr, "WRONG %s: %s\n", name.c_str(), o.complaint.c_str());
  }
  return o;
}

void time_case(benchmark::State& state, bench_case const& c, std::string const& name) {
  report_progress(name);
  std::unique_ptr<job> work;
  outcome const& o = compared(c, name, work);
  if (!o.complaint.empty()) {
    state.SkipWithError(o.complaint.c_str());
    return;
  }
  double const copy = copy_bandwidth(c.at.threads);
  if (state.max_iterations > 1)
    work->run();  // cold caches; a call that fills a run alone is past them

  // Wall time, because threads of the call are part of the call.
  auto const start = clock::now();
  for (auto _ : state) {
    work->run();
    benchmark::ClobberMemory();
  }
  double const seconds = seconds_since(start) / static_cast<double>(state.iterations());

  auto const elements = static_cast<double>(c.at.extents.size());
  double const rate = static_cast<double>(work->traffic_bytes) / seconds;
  state.counters["ns_per_element"] = seconds / elements * 1e9;
  state.counters["items_per_second"] = elements / seconds;
  state.counters["bytes_per_second"] = rate;
  state.counters["copy_bytes_per_second"] = copy;
  state.counters["share_of_copy"] = rate / copy;
  state.counters["saved_bytes"] = static_cast<double>(work->saved_bytes);
  state.counters["workspace_bytes"] = static_cast<double>(work->workspace_bytes);
  state.counters["max_error"] = *o.error;
}

// A text shorter than the length has no such case, and a processor may lack a forced instruction
// set.
bool possible(fields const& at) {
  if (at.input == "text" && at.extents.length > static_cast<ss::index_t>(the_text().size()))
    return false;
  return ss::impl::isa_available(at.instructions);
}

}  // namespace

void register_cases() {
  for (bench_case const& c : all_cases()) {
    if (!possible(c.at)) continue;
    std::string const name = c.at.name();
    benchmark::RegisterBenchmark(name.c_str(), [&c, name](benchmark::State& state) {
      time_case(state, c, name);
    })->Unit(benchmark::kMicrosecond);
  }
}

void list_cases(std::string const& filter) {
  std::regex const wanted(filter, std::regex::extended);
  for (bench_case const& c : all_cases())
    if (std::string const name = c.at.name(); possible(c.at) && std::regex_search(name, wanted))
      std::puts(name.c_str());
}

bool verify_cases(std::string const& filter) {
  std::regex const wanted(filter, std::regex::extended);
  int count = 0, wrong = 0;
  for (bench_case const& c : all_cases()) {
    std::string const name = c.at.name();
    if (!possible(c.at) || !std::regex_search(name, wanted)) continue;
    report_progress("comparing " + name);
    std::unique_ptr<job> work;
    ++count;
    if (!compared(c, name, work).complaint.empty()) ++wrong;
  }
  std::fprintf(stderr, "verified against the oracle: %d cases, %d wrong\n", count, wrong);
  return wrong == 0;
}

std::size_t run_cases() {
  struct silent final : benchmark::BenchmarkReporter {
    bool ReportContext(Context const&) override { return true; }
    void ReportRuns(std::vector<Run> const&) override {}
  } none;
  return progress ? benchmark::RunSpecifiedBenchmarks(&none) : benchmark::RunSpecifiedBenchmarks();
}

int failed_cases() { return failures; }
void show_progress() { progress = true; }

}  // namespace bench
