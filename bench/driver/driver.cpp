// SPDX-License-Identifier: Apache-2.0
// Implementation of driver.hpp: selection of cases, their verification and their timing by Google
// Benchmark.
#include "driver.hpp"

#include "backend.hpp"
#include "case.hpp"
#include "settings.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace bench {
namespace {

using clock = std::chrono::steady_clock;

int failures = 0;
bool prints_progress = false;
clock::time_point const program_start = clock::now();

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

void report_progress(std::string const& name) {
  static auto last_report = clock::now() - std::chrono::hours(1);
  if (!prints_progress || seconds_since(last_report) < 3.0) return;
  last_report = clock::now();
  std::fprintf(stderr, "  [%4.0f s] %s\n", seconds_since(program_start), name.c_str());
}

// Comparison of a case with the oracle, cached because Google Benchmark may time a case repeatedly.
struct outcome {
  std::optional<double> error;
  std::string failure;
};
std::map<std::string, outcome>& outcomes() {
  static std::map<std::string, outcome> cache;
  return cache;
}

// Compares a case with the oracle, at the first call, and returns the outcome. Creates `work` if it
// is null.
outcome const& compare_with_oracle(bench_case const& c, std::string const& name,
                                   std::unique_ptr<job>& work) {
  outcome& result = outcomes()[name];
  bool const is_first = !result.error && result.failure.empty();
  try {
    if (!work) work = c.make(c.params);
    if (is_first) {
      work->run();
      result.error = work->max_error();
      if (!(*result.error <= work->tolerance))
        result.failure = "differs from the oracle by " + std::to_string(*result.error);
    }
  } catch (std::exception const& e) {
    result.failure = e.what();
  }
  if (is_first && !result.failure.empty()) report_failure(name, result.failure);
  return result;
}

void time_case(benchmark::State& state, bench_case const& c, std::string const& name) {
  report_progress(name);
  std::unique_ptr<job> work;
  outcome const& verified = compare_with_oracle(c, name, work);
  if (!verified.failure.empty()) {
    state.SkipWithError(verified.failure.c_str());
    return;
  }
  double const copy_bytes_per_second = copy_bandwidth(c.params.threads);
  double seconds = 0.0;
  try {
    seconds = time_job(state, c.params, *work);
  } catch (std::exception const& e) {
    ++failures;
    state.SkipWithError(e.what());
    return;
  }

  auto const elements = static_cast<double>(c.params.extents.size());
  double const bytes_per_second = static_cast<double>(work->traffic_bytes) / seconds;
  state.counters["ns_per_element"] = seconds / elements * 1e9;
  state.counters["items_per_second"] = elements / seconds;
  state.counters["bytes_per_second"] = bytes_per_second;
  state.counters["copy_bytes_per_second"] = copy_bytes_per_second;
  state.counters["share_of_copy"] = bytes_per_second / copy_bytes_per_second;
  state.counters["saved_bytes"] = static_cast<double>(work->saved_bytes);
  state.counters["workspace_bytes"] = static_cast<double>(work->workspace_bytes);
  if (work->is_verified) state.counters["max_error"] = *verified.error;
  if (work->flops > 0.0) {
    double const peak = arithmetic_peak(c.params.dtype, c.params.threads);
    state.counters["flops_per_second"] = work->flops / seconds;
    state.counters["peak_flops_per_second"] = peak;
    state.counters["share_of_peak"] = work->flops / seconds / peak;
  }
}

// True if the machine supports the case and the text is long enough for it.
bool can_run(case_params const& params) {
  bool const too_long =
      params.input == "text" && params.extents.length > static_cast<ss::index_t>(corpus().size());
  return !too_long && supports(params);
}

// The reporter of --benchmark_format. Drops the warning that Debian builds Google Benchmark with
// assertions, which run outside the timed calls.
class filtered_reporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(Context const& context) override {
    std::ostringstream messages;
    reporter_->SetErrorStream(&messages);
    bool const proceed = reporter_->ReportContext(context);
    reporter_->SetErrorStream(&GetErrorStream());
    std::istringstream lines(messages.str());
    for (std::string line; std::getline(lines, line);)
      if (line.find("Library was built as DEBUG") == std::string::npos)
        GetErrorStream() << line << '\n';
    return proceed;
  }
  void ReportRuns(std::vector<Run> const& runs) override { reporter_->ReportRuns(runs); }
  void Finalize() override { reporter_->Finalize(); }

 private:
  std::unique_ptr<benchmark::BenchmarkReporter> reporter_{
      benchmark::CreateDefaultDisplayReporter()};
};

// A training step: forward, then backward, which reads the state saved at its construction.
class training_job final : public job {
 public:
  training_job(std::unique_ptr<job> forward, std::unique_ptr<job> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {
    traffic_bytes = forward_->traffic_bytes + backward_->traffic_bytes;
    saved_bytes = forward_->saved_bytes;
    workspace_bytes = std::max(forward_->workspace_bytes, backward_->workspace_bytes);
    flops = forward_->flops + backward_->flops;
    is_verified = forward_->is_verified && backward_->is_verified;
    tolerance = std::numeric_limits<double>::max();  // max_error checks each pass
  }
  void run() override {
    forward_->run();
    backward_->run();
  }
  double max_error() override {
    double error = 0.0;
    for (job* const pass : {forward_.get(), backward_.get()}) {
      double const pass_error = pass->max_error();
      if (!(pass_error <= pass->tolerance)) return wrong_result;
      error = std::max(error, pass_error);
    }
    return error;
  }

 private:
  std::unique_ptr<job> forward_, backward_;
};

}  // namespace

void add_training_cases() {
  auto& cases = all_cases();
  std::map<std::string, bench_case const*> forward_cases;
  for (bench_case const& c : cases)
    if (c.params.direction == "forward") forward_cases.emplace(c.params.name(), &c);
  std::vector<bench_case> training_cases;
  for (bench_case const& c : cases) {
    bool const is_text_task =
        c.params.input == "text" ||
        c.params.input == text_task_settings().input_of(c.params.extents.length);
    bool const is_trained = c.params.direction == "backward" && is_text_task &&
                            c.params.isa == ss::isa::best &&
                            c.params.subject.rfind("baseline", 0) != 0;
    if (!is_trained) continue;
    case_params params = c.params;
    params.direction = "forward";
    auto const found = forward_cases.find(params.name());
    if (found == forward_cases.end()) continue;
    params.direction = "training";
    auto const forward = std::make_shared<bench_case const>(*found->second);
    auto const backward = std::make_shared<bench_case const>(c);
    auto const make = [forward, backward](case_params const&) -> std::unique_ptr<job> {
      return std::make_unique<training_job>(forward->make(forward->params),
                                            backward->make(backward->params));
    };
    training_cases.push_back({params, make, {forward, backward}});
  }
  std::move(training_cases.begin(), training_cases.end(), std::back_inserter(cases));
}

void filter_cases(std::set<std::string> const& dtypes) {
  std::unordered_set<std::string> names;
  std::vector<bench_case> kept_cases;
  for (bench_case& c : all_cases())
    if ((dtypes.empty() || dtypes.count(c.params.dtype) != 0) &&
        names.insert(c.params.name()).second)
      kept_cases.push_back(std::move(c));
  all_cases() = std::move(kept_cases);
}

std::vector<bench_case const*> select_cases(std::string const& filter) {
  // Same syntax as Google Benchmark's filter, a leading "-" inverts it; but Google Benchmark would
  // match names with "/manual_time" appended.
  bool const is_inverted = !filter.empty() && filter.front() == '-';
  std::regex const expression(filter == "all" ? "." : filter.substr(is_inverted ? 1 : 0),
                              std::regex::extended);
  std::vector<bench_case const*> selected;
  for (bench_case const& c : all_cases())
    if (can_run(c.params) && std::regex_search(c.params.name(), expression) != is_inverted)
      selected.push_back(&c);
  return selected;
}

void report_failure(std::string const& name, std::string const& failure) {
  ++failures;
  std::fprintf(stderr, "WRONG %s: %s\n", name.c_str(), failure.c_str());
}

std::size_t register_cases(std::string const& filter) {
  std::vector<bench_case const*> const selected = select_cases(filter);
  for (bench_case const* const c : selected) {
    std::string const name = c->params.name();
    auto* const registered = benchmark::RegisterBenchmark(
        name.c_str(), [c, name](benchmark::State& state) { time_case(state, *c, name); });
    registered->Unit(benchmark::kMicrosecond);
    if (uses_manual_time()) registered->UseManualTime();
  }
  return selected.size();
}

void list_cases(std::string const& filter) {
  for (bench_case const* const c : select_cases(filter)) std::puts(c->params.name().c_str());
}

void run_cases() {
  filtered_reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter, "all");
}

int failure_count() { return failures; }
void show_progress() { prints_progress = true; }

}  // namespace bench
