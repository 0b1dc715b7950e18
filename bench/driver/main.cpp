// SPDX-License-Identifier: Apache-2.0
// Main function of both bench programs. Flags, in addition to those of Google Benchmark:
//   --text FILE; --lengths N,N,.. (added to the default ones), --batch B, --channels N,N,..,
//   --heads H,H,.., --input NAME of the text task; --dtypes f32,.. (only these); --progress
//   --arena ROUNDS times the cases round by round (driver.hpp), each for --round-seconds S;
//   --wait-for-rounds waits for a line on stdin before each round
#include "backend.hpp"
#include "driver.hpp"
#include "settings.hpp"

#include <benchmark/benchmark.h>
#include <slicesort/tensor_view.hpp>
#include <slicesort/version.hpp>

#include <cstdio>
#include <exception>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace {

struct arguments {
  std::string text = SLICESORT_BENCH_TEXT;
  bool list_cases = false;
  std::set<std::string> dtypes;  // empty: all
  bool run_arena = false;
  bench::arena_options arena;
};

template <class Number>
Number parse_number(std::string const& flag, std::string const& text) {
  std::istringstream stream(text);
  Number value{};
  if (!(stream >> value) || stream.peek() != EOF || !(0 < value && value < 1'000'000'000))
    throw bench::usage_error(flag + ": '" + text + "' is not a positive number");
  return value;
}

// Parses a list such as 1024,4096.
template <class Item>
std::vector<Item> parse_list(std::string const& flag, std::string const& list) {
  std::vector<Item> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');)
    if constexpr (std::is_same_v<Item, std::string>)
      items.push_back(item);
    else
      items.push_back(parse_number<Item>(flag, item));
  if (items.empty()) throw bench::usage_error(flag + " needs a list such as 1024,4096");
  return items;
}

// Removes the driver's flags from argv and leaves Google Benchmark's.
arguments take_arguments(int& argc, char** argv) {
  using slicesort::index_t;
  arguments args;
  bench::text_task& task = bench::text_task_settings();
  int remaining = 1;
  for (int i = 1; i < argc; ++i) {
    std::string const flag = argv[i];
    auto const value = [&] {
      if (i + 1 == argc) throw bench::usage_error(flag + " needs a value");
      return std::string(argv[++i]);
    };
    if (flag == "--text")
      args.text = value();
    else if (flag == "--lengths")
      for (index_t const n : parse_list<index_t>(flag, value())) task.lengths.insert(n);
    else if (flag == "--batch")
      task.batch = parse_number<index_t>(flag, value());
    else if (flag == "--channels")
      task.channels = parse_list<index_t>(flag, value());
    else if (flag == "--heads")
      task.heads = parse_list<index_t>(flag, value());
    else if (flag == "--input")
      task.input = value();
    else if (flag == "--dtypes")
      for (std::string const& name : parse_list<std::string>(flag, value()))
        args.dtypes.insert(name);
    else if (flag == "--arena")
      args.run_arena = true, args.arena.rounds = unsigned(parse_number<int>(flag, value()));
    else if (flag == "--round-seconds")
      args.arena.seconds_per_round = parse_number<double>(flag, value());
    else if (flag == "--wait-for-rounds")
      args.arena.wait_for_rounds = true;
    else if (flag == "--benchmark_list_tests" || flag == "--benchmark_list_tests=true")
      args.list_cases = true;  // Google Benchmark's listing takes quadratic time
    else if (flag == "--progress")
      bench::show_progress();
    else
      argv[remaining++] = argv[i];
  }
  argc = remaining;
  return args;
}

std::string version() {
  return std::to_string(SLICESORT_VERSION_MAJOR) + '.' + std::to_string(SLICESORT_VERSION_MINOR) +
         '.' + std::to_string(SLICESORT_VERSION_PATCH);
}

int run(int argc, char** argv) {
  arguments const args = take_arguments(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (argc > 1) throw bench::usage_error(std::string("unknown flag ") + argv[1]);

  bench::corpus() = bench::read_text(args.text);
  bench::add_all_subjects();
  bench::add_training_cases();
  bench::filter_cases(args.dtypes);
  std::string const filter = benchmark::GetBenchmarkFilter();
  if (args.list_cases) {
    bench::list_cases(filter);
    return 0;
  }
  if (std::string const reason = bench::missing_requirement(); !reason.empty()) {
    std::printf("nothing measured: %s\n", reason.c_str());
    return 0;
  }
  bench::describe_machine();
  benchmark::AddCustomContext("flags", SLICESORT_BENCH_FLAGS);
  benchmark::AddCustomContext("slicesort", version());
  benchmark::AddCustomContext("text", args.text.substr(args.text.find_last_of('/') + 1));

  if (args.run_arena) {
    if (bench::run_arena(filter, args.arena) == 0)
      throw bench::usage_error("no case matches the filter");
    return bench::failure_count() == 0 ? 0 : 1;
  }

  if (bench::register_cases(filter) == 0) throw bench::usage_error("no case matches the filter");
  bench::run_cases();
  benchmark::Shutdown();
  return bench::failure_count() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bench::prepare_process(argv);
    return run(argc, argv);
  } catch (bench::usage_error const& e) {
    std::fprintf(stderr, "bench: %s\n", e.what());
    return 2;
  } catch (std::regex_error const& e) {
    std::fprintf(stderr, "bench: bad regular expression: %s\n", e.what());
    return 2;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "bench: %s\n", e.what());
    return 1;
  }
}
