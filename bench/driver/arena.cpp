// SPDX-License-Identifier: Apache-2.0
#include "backend.hpp"
#include "case.hpp"
#include "driver.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
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

constexpr double long_call = 0.05;  // seconds of a call that needs no warm-up

struct contestant {
  bench_case const* what = nullptr;
  std::string name;
  trial first;
  std::unique_ptr<job> work;
  unsigned calls = 1;
  std::vector<double> seconds;  // of one call, round by round
};

std::string quoted(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  std::ostringstream out;
  out << std::quoted(text);
  return out.str();
}

// A number in JSON, which has no infinity and no NaN.
std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void say(std::string const& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

void say_step(char const* step, std::string const& name, std::size_t done, std::size_t of) {
  say("{\"step\": " + quoted(step) + ", \"case\": " + quoted(name) +
      ", \"done\": " + std::to_string(done) + ", \"of\": " + std::to_string(of) + '}');
}

// Google Benchmark's own description of the machine, and what was added to it.
void say_context() {
  std::ostringstream out;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&std::cerr);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  std::string text = out.str() + "]}";
  std::replace(text.begin(), text.end(), '\n', ' ');
  say(text);
}

void say_result(contestant const& c) {
  std::string line = "{\"name\": " + quoted(c.name);
  auto const field = [&](char const* key, double value) {
    line += std::string(", \"") + key + "\": " + number(value);
  };
  if (!c.first.complaint.empty()) {
    say(line + ", \"failed\": " + quoted(c.first.complaint) + '}');
    return;
  }
  if (c.work->verified) field("max_error", c.first.error);
  if (c.first.peak_bytes) field("peak_bytes", static_cast<double>(*c.first.peak_bytes));
  field("saved_bytes", static_cast<double>(c.work->saved_bytes));
  field("workspace_bytes", static_cast<double>(c.work->workspace_bytes));
  field("traffic_bytes", static_cast<double>(c.work->traffic_bytes));
  field("flops", c.work->flops);
  field("copy_bytes_per_second", copy_bandwidth(c.what->at.threads));
  field("peak_flops_per_second", arithmetic_peak(c.what->at.dtype, c.what->at.threads));
  field("calls", c.calls);
  line += ", \"seconds\": [";
  for (std::size_t i = 0; i < c.seconds.size(); ++i)
    line += (i == 0 ? "" : ", ") + number(c.seconds[i]);
  say(line + "]}");
}

double time_in_round(contestant& c, double seconds_of_a_round) {
  double const one = c.seconds.empty() ? c.first.seconds : c.seconds.front();
  double const wanted = std::ceil(seconds_of_a_round / std::max(one, 1e-9));
  c.calls = static_cast<unsigned>(std::min(std::max(wanted, 1.0), 10000.0));
  if (one < long_call) c.work->run();  // the others have taken the caches
  return time_calls(*c.work, c.calls);
}

// Times those that fit in memory together and returns the others.
std::vector<contestant*> compete(std::vector<contestant*> const& all, arena_options const& o,
                                 std::mt19937& shuffled) {
  std::vector<contestant*> here, left;
  for (contestant* const c : all) try {
      if (!c->work) c->work = c->what->make(c->what->at);
      here.push_back(c);
    } catch (std::bad_alloc const&) {
      left.push_back(c);
    }
  if (here.empty()) {
    for (contestant* const c : left) c->first.complaint = "out of memory";
    return {};
  }
  for (unsigned round = 0; round < o.rounds; ++round) {
    if (o.wait_for_rounds) {
      say("{\"step\": \"round\"}");
      std::string line;
      if (!std::getline(std::cin, line)) std::exit(1);
    }
    std::shuffle(here.begin(), here.end(), shuffled);
    for (std::size_t i = 0; i < here.size(); ++i) {
      say_step("timing", here[i]->name, round * here.size() + i, o.rounds * here.size());
      here[i]->seconds.push_back(time_in_round(*here[i], o.seconds_of_a_round));
    }
  }
  return left;
}

}  // namespace

std::size_t run_arena(std::string const& filter, arena_options const& o) {
  bound_memory();
  say_context();
  std::vector<contestant> all;
  for (bench_case const* const c : selected_cases(filter)) {
    all.emplace_back();
    all.back().what = c;
    all.back().name = c->at.name();
    // Measured once, before any case holds memory.
    (void)copy_bandwidth(c->at.threads);
    (void)arithmetic_peak(c->at.dtype, c->at.threads);
  }
  std::vector<contestant*> waiting;
  for (std::size_t i = 0; i < all.size(); ++i) {
    say_step("comparing", all[i].name, i, all.size());
    all[i].first = try_once(*all[i].what);
    if (all[i].first.complaint.empty()) waiting.push_back(&all[i]);
  }
  std::mt19937 shuffled(2024);
  while (!waiting.empty()) {
    std::vector<contestant*> left = compete(waiting, o, shuffled);
    for (contestant* const c : waiting)
      if (c->work) say_result(*c), c->work.reset();
    waiting = std::move(left);
  }
  for (contestant const& c : all)
    if (!c.first.complaint.empty()) {
      if (c.first.complaint != "out of memory") note_failure(c.name, c.first.complaint);
      say_result(c);
    }
  return all.size();
}

}  // namespace bench
