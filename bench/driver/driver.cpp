// SPDX-License-Identifier: Apache-2.0
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

// Comparison of a case with the oracle, cached because Google Benchmark may time a case repeatedly.
struct outcome {
  std::optional<double> error;
  std::string failure;
};
std::map<std::string, outcome>& outcomes() {
  static std::map<std::string, outcome> cache;
  return cache;
}

// Returns the outcome of a case, computed at the first call. Creates `work` if it is null.
outcome const& compared(bench_case const& c, std::string const& name, std::unique_ptr<job>& work) {
  outcome& o = outcomes()[name];
  bool const first = !o.error && o.failure.empty();
  try {
    if (!work) work = c.make(c.params);
    if (first) {
      work->run();
      o.error = work->max_error();
      if (!(*o.error <= work->tolerance))
        o.failure = "differs from the oracle by " + std::to_string(*o.error);
    }
  } catch (std::exception const& e) {
    o.failure = e.what();
  }
  if (first && !o.failure.empty()) note_failure(name, o.failure);
  return o;
}

void time_case(benchmark::State& state, bench_case const& c, std::string const& name) {
  report_progress(name);
  std::unique_ptr<job> work;
  outcome const& o = compared(c, name, work);
  if (!o.failure.empty()) {
    state.SkipWithError(o.failure.c_str());
    return;
  }
  double const copy = copy_bandwidth(c.params.threads);
  double seconds = 0.0;
  try {
    seconds = time_job(state, c.params, *work);
  } catch (std::exception const& e) {
    ++failures;
    state.SkipWithError(e.what());
    return;
  }

  auto const elements = static_cast<double>(c.params.extents.size());
  double const rate = static_cast<double>(work->traffic_bytes) / seconds;
  state.counters["ns_per_element"] = seconds / elements * 1e9;
  state.counters["items_per_second"] = elements / seconds;
  state.counters["bytes_per_second"] = rate;
  state.counters["copy_bytes_per_second"] = copy;
  state.counters["share_of_copy"] = rate / copy;
  state.counters["saved_bytes"] = static_cast<double>(work->saved_bytes);
  state.counters["workspace_bytes"] = static_cast<double>(work->workspace_bytes);
  if (work->verified) state.counters["max_error"] = *o.error;
  if (work->flops > 0.0) {
    double const peak = arithmetic_peak(c.params.dtype, c.params.threads);
    state.counters["flops_per_second"] = work->flops / seconds;
    state.counters["peak_flops_per_second"] = peak;
    state.counters["share_of_peak"] = work->flops / seconds / peak;
  }
}

// A case on text needs a text of at least its length.
bool can_run(case_params const& params) {
  bool const too_long =
      params.input == "text" && params.extents.length > static_cast<ss::index_t>(corpus().size());
  return !too_long && supports(params);
}

// The reporter of --benchmark_format, without the warning that Debian builds Google Benchmark with
// assertions. They run outside the timed calls.
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
class pair_job final : public job {
 public:
  pair_job(std::unique_ptr<job> forward, std::unique_ptr<job> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {
    traffic_bytes = forward_->traffic_bytes + backward_->traffic_bytes;
    saved_bytes = forward_->saved_bytes;
    workspace_bytes = std::max(forward_->workspace_bytes, backward_->workspace_bytes);
    flops = forward_->flops + backward_->flops;
    verified = forward_->verified && backward_->verified;
    tolerance = std::numeric_limits<double>::max();  // checked per half in max_error
  }
  void run() override {
    forward_->run();
    backward_->run();
  }
  double max_error() override {
    double error = 0.0;
    for (job* const half : {forward_.get(), backward_.get()}) {
      double const e = half->max_error();
      if (!(e <= half->tolerance)) return wrong;
      error = std::max(error, e);
    }
    return error;
  }

 private:
  std::unique_ptr<job> forward_, backward_;
};

}  // namespace

void add_training_cases() {
  auto& cases = all_cases();
  std::map<std::string, bench_case const*> forwards;
  for (bench_case const& c : cases)
    if (c.params.direction == "forward") forwards.emplace(c.params.name(), &c);
  std::vector<bench_case> found;
  for (bench_case const& c : cases) {
    bool const on_task = c.params.input == "text" ||
                         c.params.input == text_task_settings().input_of(c.params.extents.length);
    bool const takes_part = c.params.direction == "backward" && on_task &&
                            c.params.instructions == ss::isa::best &&
                            c.params.subject.rfind("baseline", 0) != 0;
    if (!takes_part) continue;
    case_params params = c.params;
    params.direction = "forward";
    auto const forward = forwards.find(params.name());
    if (forward == forwards.end()) continue;
    params.direction = "training";
    auto const first = std::make_shared<bench_case const>(*forward->second);
    auto const second = std::make_shared<bench_case const>(c);
    auto const make = [first, second](case_params const&) -> std::unique_ptr<job> {
      return std::make_unique<pair_job>(first->make(first->params), second->make(second->params));
    };
    found.push_back({params, make, {first, second}});
  }
  std::move(found.begin(), found.end(), std::back_inserter(cases));
}

void keep_cases(std::set<std::string> const& dtypes) {
  std::unordered_set<std::string> names;
  std::vector<bench_case> selected;
  for (bench_case& c : all_cases())
    if ((dtypes.empty() || dtypes.count(c.params.dtype) != 0) &&
        names.insert(c.params.name()).second)
      selected.push_back(std::move(c));
  all_cases() = std::move(selected);
}

std::vector<bench_case const*> selected_cases(std::string const& filter) {
  // Same syntax as Google Benchmark's filter, a leading "-" inverts it; but Google Benchmark would
  // match names with "/manual_time" appended.
  bool const inverted = !filter.empty() && filter.front() == '-';
  std::regex const expression(filter == "all" ? "." : filter.substr(inverted ? 1 : 0),
                              std::regex::extended);
  std::vector<bench_case const*> found;
  for (bench_case const& c : all_cases())
    if (can_run(c.params) && std::regex_search(c.params.name(), expression) != inverted)
      found.push_back(&c);
  return found;
}

void note_failure(std::string const& name, std::string const& failure) {
  ++failures;
  std::fprintf(stderr, "WRONG %s: %s\n", name.c_str(), failure.c_str());
}

std::size_t register_cases(std::string const& filter) {
  std::vector<bench_case const*> const selected = selected_cases(filter);
  for (bench_case const* const c : selected) {
    std::string const name = c->params.name();
    auto* const made = benchmark::RegisterBenchmark(
        name.c_str(), [c, name](benchmark::State& state) { time_case(state, *c, name); });
    made->Unit(benchmark::kMicrosecond);
    if (uses_manual_time()) made->UseManualTime();
  }
  return selected.size();
}

void list_cases(std::string const& filter) {
  for (bench_case const* const c : selected_cases(filter)) std::puts(c->params.name().c_str());
}

void run_cases() {
  filtered_reporter chosen;
  benchmark::RunSpecifiedBenchmarks(&chosen, "all");
}

int failed_cases() { return failures; }
void show_progress() { progress = true; }

}  // namespace bench
