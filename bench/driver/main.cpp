// SPDX-License-Identifier: Apache-2.0
// The main function of both bench programs; the cases and the backend that it is linked with make
// it the host's or the GPU's. Takes Google Benchmark's own flags, and --text FILE; of the text task
// --lengths N,N,.. (besides its own), --batch B, --channels N,N,.., --heads H,H,.., --input NAME;
// --dtypes f32,.. (only these), --progress; --arena ROUNDS times the cases round by round
// (driver.hpp), each for --round-seconds S, and with --wait-for-rounds waits for a line before
// each.
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
  bool list = false;
  std::set<std::string> dtypes;  // all if it is empty
  bool in_arena = false;
  bench::arena_options arena;
};

template <class Number>
Number parse_number(std::string const& flag, std::string const& text) {
  std::istringstream in(text);
  Number number{};
  if (!(in >> number) || in.peek() != EOF || !(0 < number && number < 1'000'000'000))
    throw bench::usage_error(flag + ": '" + text + "' is not a positive number");
  return number;
}

// Items such as 1024,4096.
template <class Item>
std::vector<Item> parse_list(std::string const& flag, std::string const& list) {
  std::vector<Item> items;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');)
    if constexpr (std::is_same_v<Item, std::string>)
      items.push_back(part);
    else
      items.push_back(parse_number<Item>(flag, part));
  if (items.empty()) throw bench::usage_error(flag + " needs a list such as 1024,4096");
  return items;
}

// Takes the driver's flags out of argv and leaves Google Benchmark's.
arguments take_arguments(int& argc, char** argv) {
  using slicesort::index_t;
  arguments a;
  bench::text_task& task = bench::the_task();
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    std::string const flag = argv[i];
    auto const value = [&] {
      if (i + 1 == argc) throw bench::usage_error(flag + " needs a value");
      return std::string(argv[++i]);
    };
    if (flag == "--text")
      a.text = value();
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
      for (std::string const& name : parse_list<std::string>(flag, value())) a.dtypes.insert(name);
    else if (flag == "--arena")
      a.in_arena = true, a.arena.rounds = unsigned(parse_number<int>(flag, value()));
    else if (flag == "--round-seconds")
      a.arena.seconds_of_a_round = parse_number<double>(flag, value());
    else if (flag == "--wait-for-rounds")
      a.arena.wait_for_rounds = true;
    else if (flag == "--benchmark_list_tests" || flag == "--benchmark_list_tests=true")
      a.list = true;  // Google Benchmark's own is quadratic in the number of cases
    else if (flag == "--progress")
      bench::show_progress();
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  return a;
}

std::string version() {
  return std::to_string(SLICESORT_VERSION_MAJOR) + '.' + std::to_string(SLICESORT_VERSION_MINOR) +
         '.' + std::to_string(SLICESORT_VERSION_PATCH);
}

int run(int argc, char** argv) {
  arguments const a = take_arguments(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (argc > 1) throw bench::usage_error(std::string("unknown flag ") + argv[1]);

  bench::the_text() = bench::read_text(a.text);
  bench::add_all_subjects();
  bench::add_training_cases();
  bench::keep_cases(a.dtypes);
  std::string const filter = benchmark::GetBenchmarkFilter();
  if (a.list) {
    bench::list_cases(filter);
    return 0;
  }
  if (std::string const why = bench::obstacle(); !why.empty()) {
    std::printf("nothing measured: %s\n", why.c_str());
    return 0;
  }
  bench::describe_machine();
  benchmark::AddCustomContext("flags", SLICESORT_BENCH_FLAGS);
  benchmark::AddCustomContext("slicesort", version());
  benchmark::AddCustomContext("text", a.text.substr(a.text.find_last_of('/') + 1));

  if (a.in_arena) {
    if (bench::run_arena(filter, a.arena) == 0)
      throw bench::usage_error("no case matches the filter");
    return bench::failed_cases() == 0 ? 0 : 1;
  }

  if (bench::register_cases(filter) == 0) throw bench::usage_error("no case matches the filter");
  bench::run_cases();
  benchmark::Shutdown();
  return bench::failed_cases() == 0 ? 0 : 1;
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
