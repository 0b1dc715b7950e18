// SPDX-License-Identifier: Apache-2.0
// Files of training runs (checkpoints, run logs), flags, and limits of threads, memory and
// parameters.
#include "learning/checkpoint.hpp"
#include "learning/flags.hpp"
#include "learning/memory.hpp"
#include "learning/progress.hpp"
#include "learning/tasks/by_name.hpp"
#include "support/thread_pool.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

using namespace learning;

namespace {

std::string const path = "learning_runs_test";

// Parses the flag --rate, which `add` adds.
template <class T>
T parse_rate(char const* text, void (*add)(CLI::App&, T&)) {
  CLI::App app;
  T value{};
  add(app, value);
  char const* const words[] = {"program", "--rate", text};
  read_flags(app, 3, words, [] {});
  return value;
}
template <class T>
std::string error_of(std::string const& text, void (*add)(CLI::App&, T&)) {
  try {
    parse_rate(text.c_str(), add);
  } catch (usage_error const& e) {
    return e.what();
  }
  return "accepted";
}
void add_number_rate(CLI::App& app, double& value) { add_number(app, "rate", value); }
void add_fraction_rate(CLI::App& app, double& value) { add_fraction(app, "rate", value); }
void add_threads(CLI::App& app, unsigned& value) { add_integer(app, "rate", value, 1, 4096); }
void add_seed(CLI::App& app, std::uint64_t& value) {
  add_integer(app, "rate", value, 0, UINT64_MAX);
}

}  // namespace

TEST_CASE("invalid metadata are rejected before anything is written") {
  parameters<float> params;
  params.add("a", {2, 3}, initializer::normal(1));
  params.allocate(3);
  std::vector<float> const before = params.values();
  metadata const valid_meta = metadata_of({7, 0.1, "width=8"});
  auto const load_result = [&](char const* name, char const* value) -> std::string {
    metadata meta = valid_meta;
    if (value != nullptr)
      meta[name] = value;
    else
      meta.erase(name);
    params.values()[0] = 5;
    save_checkpoint(path, params, meta);
    params.values() = before;
    try {
      run_state const run = load_checkpoint(
          path, params, [](metadata const& m) { return parse_run_state(m, "width=8", 20); });
      CHECK(params.values()[0] == 5);
      return std::to_string(run.step);
    } catch (checkpoint_error const& e) {
      CHECK(params.values() == before);
      return e.what();
    }
  };
  CHECK(load_result("step", "7") == "7");
  CHECK(load_result("step", "0") == "0");
  CHECK(load_result("step", "20") == "20");
  CHECK(parse_run_state(valid_meta, "width=8", 20).seconds == 0.1);
  for (std::string const value :
       {"-1", "-5", "21", "1000000", "9223372036854775807", "9223372036854775808", "banana", "",
        " 7", "7 ", "7.0", "1e1", "+7", "0x7", "\xd9\xa7"}) {
    CHECK(load_result("step", value.c_str()) ==
          path + ": step is '" + value + "', must be a whole number from 0 to 20");
  }
  for (std::string const value : {"-1", "nan", "inf", "-inf", "1e999", "", "0,1", "1 s"})
    CHECK(load_result("seconds", value.c_str()) ==
          path + ": seconds is '" + value + "', must be a finite number of at least 0");
  CHECK(load_result("settings", "width=9") == path + ": is of another run: width=9");
  for (char const* name : {"step", "seconds", "settings"})
    CHECK(load_result(name, nullptr) == path + ": has no " + name);
  std::remove(path.c_str());
}
TEST_CASE("two processes write one checkpoint") {
  pid_t writers[2];
  for (int i = 0; i < 2; ++i) {
    writers[i] = fork();
    REQUIRE(writers[i] >= 0);
    if (writers[i] != 0) continue;
    parameters<float> params;
    params.add("a", {1 << 14}, initializer::constant(i));
    params.allocate(0);
    try {
      for (int n = 0; n < 60; ++n) save_checkpoint(path, params, {});
    } catch (checkpoint_error const&) {
      _exit(1);
    }
    _exit(0);
  }
  for (pid_t const writer : writers) {
    int status = -1;
    CHECK(waitpid(writer, &status, 0) == writer);
    CHECK(status == 0);
  }
  parameters<float> params;
  params.add("a", {1 << 14}, initializer::constant(9));
  params.allocate(0);
  load_checkpoint(path, params);
  std::vector<float> const& values = params.values();
  CHECK(values[0] < 2);
  CHECK(std::count(values.begin(), values.end(), values[0]) == 1 << 14);
  std::remove(path.c_str());
}
TEST_CASE("a run log begins on a new line") {
  std::string const start = "{\"event\":\"start\",\"loss\":0.5}\n";
  auto const log_after = [&](std::string const& before) {
    std::ofstream(path, std::ios::binary) << before;
    run_log(path).write(log_entry("start").add("loss", 0.5));
    return read_file(path);
  };
  CHECK(log_after("") == start);
  CHECK(log_after(start) == start + start);
  CHECK(log_after("{\"event\":\"te") == "{\"event\":\"te\n" + start);
  CHECK(log_after("x") == "x\n" + start);
  CHECK(log_after("\n") == "\n" + start);
  std::remove(path.c_str());
}
TEST_CASE("a run log that cannot be written fails") {
  std::string const prefix = "cannot write the run log ";
  CHECK_THROWS_WITH_AS(run_log("no/such/folder/file"),
                       (prefix + "no/such/folder/file: No such file or directory").c_str(),
                       checkpoint_error);
  CHECK_THROWS_WITH_AS(run_log("."), (prefix + ".: Is a directory").c_str(), checkpoint_error);
  // Simulates a full disk: the file cannot grow.
  run_log full(path);
  full.write(log_entry("start"));
  rlimit old_limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  rlimit const small_limit{static_cast<rlim_t>(read_file(path).size()), old_limit.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small_limit) == 0);
  std::string load_result = "written";
  try {
    full.write(log_entry("end"));
  } catch (checkpoint_error const& e) {
    load_result = e.what();
  }
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(load_result == prefix + path + ": File too large");
  std::remove(path.c_str());
}
TEST_CASE("flags: numbers within bounds, and the error message of others") {
  for (char const* value : {"0", "1e-3", ".5", "2.", "1e15"})
    CHECK(error_of(value, add_number_rate) == "accepted");
  for (std::string const value : {"1e300", "1e999", "-1", "nan", "inf", "", "x", "1 ", " 1", "1,5"})
    CHECK(error_of(value, add_number_rate) ==
          "--rate is '" + value + "', must be a number from 0 to 1e15");
  CHECK(error_of("0.999", add_fraction_rate) == "accepted");
  CHECK(error_of("1", add_fraction_rate) == "--rate is '1', must be a number from 0 to below 1");
  CHECK(error_of("4096", add_threads) == "accepted");
  for (std::string const value : {"0", "4097", "4e9", "4294967297", "-1", "1.5"})
    CHECK(error_of(value, add_threads) ==
          "--rate is '" + value + "', must be a whole number from 1 to 4096");
  CHECK(parse_rate("18446744073709551615", add_seed) == UINT64_MAX);
  CHECK(parse_rate("9007199254740993", add_seed) ==
        9007199254740993);  // not representable in double
  CHECK(error_of("18446744073709551616", add_seed) ==
        "--rate is '18446744073709551616', must be a whole number from 0 to 18446744073709551615");
}
TEST_CASE("tasks by name, and error messages") {
  auto const make_task = [](std::vector<char const*> words) {
    words.insert(words.begin(), "program");
    CLI::App app;
    std::string name = "adding";
    task_maker make;
    app.add_option("--task", name);
    read_flags(app, static_cast<int>(words.size()), words.data(),
               [&] { make = add_task(app, name); });
    return make();
  };
  auto const tokens_of = [](task const& source, split subset, index_t index) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(source.shape().length));
    sample s;
    s.tokens = tokens.data();
    source.write(subset, index, s);
    tokens.resize(static_cast<std::size_t>(s.length));
    return tokens;
  };
  auto const t = make_task({"--task", "listops", "--length", "40", "--shortest", "10"});
  CHECK(t->shape().length == 40);
  CHECK(tokens_of(*t, split::test, 0).size() >= 10);
  CHECK(tokens_of(*make_task({"--task", "listops", "--length", "100"}), split::test, 0).size() >=
        25);
  CHECK(
      make_task({"--task", "adding", "--length", "32", "--test-samples", "9"})->size(split::test) ==
      9);
  auto const whole = make_task({"--task", "listops", "--length", "40", "--training-samples", "9"});
  auto const held_out = make_task({"--task", "listops", "--length", "40", "--training-samples", "9",
                                   "--test-samples", "5", "--validation", "2"});
  CHECK(held_out->size(split::training) == 7);
  CHECK(held_out->size(split::test) == 2);
  CHECK(held_out->shape().outputs == 10);
  for (index_t i = 0; i < 2; ++i) {
    CHECK(tokens_of(*held_out, split::training, 5 + i) ==
          tokens_of(*whole, split::training, 5 + i));
    CHECK(tokens_of(*held_out, split::test, i) == tokens_of(*whole, split::training, 7 + i));
  }
  CHECK_THROWS_WITH_AS(
      make_task({"--task", "adding", "--training-samples", "9", "--validation", "9"}),
      "validation: must hold out 1 to 8 training samples, is 9", task_error);
  CHECK_THROWS_WITH_AS(make_task({"--task", "addin"}), doctest::Contains("there are adding, "),
                       usage_error);
  CHECK_THROWS_WITH_AS(make_task({"--task", "imdb"}),
                       "task imdb needs the folder of its files: --data", usage_error);
  CHECK_THROWS_WITH_AS(make_task({"--task", "adding", "--length", "1"}),
                       "--length is '1', must be a whole number from 2 to 1048576", usage_error);
  for (char const* length : {"2.5", "1e3", "1048577", "4294967298", "18446744073709551618", "x", "",
                             " 8", "8 ", "-8", "0x8"})
    CHECK_THROWS_WITH_AS(make_task({"--task", "adding", "--length", length}),
                         doctest::Contains("must be a whole number from 2 to"), usage_error);
  CHECK_THROWS_WITH_AS(make_task({"--task", "adding", "--lenght", "20"}),
                       doctest::Contains("there is no flag --lenght; there are length, "),
                       usage_error);
  CHECK_THROWS_WITH_AS(make_task({"--task", "adding", "--shortest", "20"}),
                       doctest::Contains("there is no flag --shortest; there are "), usage_error);
  CHECK_THROWS_WITH_AS(make_task({"--task", "adding", "--length"}), doctest::Contains("--length"),
                       usage_error);
  CHECK_THROWS_WITH_AS(make_task({"adding"}), "'adding' is no flag", usage_error);
  CHECK_THROWS_AS(make_task({"--task", "adding", "--help"}), CLI::CallForHelp);
}
namespace {

// Selects an installed locale with a decimal comma. Returns false if there is none.
bool set_decimal_comma() {
  for (char const* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "ru_RU.UTF-8"})
    if (std::setlocale(LC_ALL, name) != nullptr) return true;
  return false;
}
bool has_decimal_comma() {
  bool const found = set_decimal_comma();
  std::setlocale(LC_ALL, "C");
  return found;
}
void check_numbers() {
  CHECK(parse_rate("1.5", add_number_rate) == 1.5);
  CHECK(log_entry("e").add("loss", 1234567.25).text() == "{\"event\":\"e\",\"loss\":1234567.25}\n");
  metadata const meta = metadata_of({1, 1234.5, ""});
  CHECK(meta.at("seconds") == "1234.5");
  CHECK(parse_run_state(meta, "", 1).seconds == 1234.5);
  CHECK(format_number(0.1, 17) == "0.10000000000000001");
}

}  // namespace

TEST_CASE("writing and parsing numbers") { check_numbers(); }
TEST_CASE("writing and parsing numbers in a locale with a decimal comma" *
          doctest::skip(!has_decimal_comma())) {
  CHECK(set_decimal_comma());
  check_numbers();
  std::setlocale(LC_ALL, "C");
}
TEST_CASE("a thread pool rethrows exceptions and continues to work") {
  thread_pool threads(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> calls{0};
    CHECK_THROWS_WITH_AS(threads.parallel_for(8,
                                              [&](unsigned i) {
                                                ++calls;
                                                if (i % 2 == 1) throw std::runtime_error("odd");
                                              }),
                         "odd", std::runtime_error);
    CHECK(calls == 8);
    calls = 0;
    threads.parallel_for(8, [&](unsigned) { ++calls; });
    CHECK(calls == 8);
  }
}
TEST_CASE("sizes that overflow are rejected") {
  constexpr index_t huge = index_t{1} << 61;
  memory counted;
  counted.keep<float>(huge / 4);
  CHECK_THROWS_AS(counted.keep<float>(huge), std::bad_alloc);
  CHECK_THROWS_AS(counted.scratch<double>(huge), std::bad_alloc);
  CHECK_THROWS_AS(counted.keep<char>(-1), std::bad_alloc);
  CHECK_THROWS_AS(for (int i = 0; i < 64; ++i) counted.keep<float>(huge / 4), std::bad_alloc);
  parameters<float> params;
  params.add("a", {huge / 4}, initializer::constant(0));
  CHECK_THROWS_AS(params.add("b", {huge, 4}, initializer::constant(0)), std::bad_alloc);
  CHECK_THROWS_AS(params.add("c", {index_t{1} << 32, index_t{1} << 32}, initializer::constant(0)),
                  std::bad_alloc);
  CHECK_THROWS_AS(params.add("d", {huge}, initializer::constant(0)), std::bad_alloc);
  CHECK_THROWS_AS(params.add("e", {-1}, initializer::constant(0)), std::bad_alloc);
  CHECK(params.size() == huge / 4);
}
