// SPDX-License-Identifier: Apache-2.0
// The text task, and the settings that operators share with baselines: every case then has its
// baseline. filter_cases drops duplicate cases.
#pragma once

#include "case.hpp"

#include <slicesort/dtype.hpp>

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// An error on the command line: one message, exit status 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::vector<std::uint8_t> read_text(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error("cannot read the text " + path);
  std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(file)),
                                  std::istreambuf_iterator<char>());
  if (file.bad()) throw usage_error("cannot read the text " + path);
  if (bytes.empty()) throw usage_error("the text " + path + " is empty");
  return bytes;
}

// Bytes of --text, read before any case runs.
inline std::vector<std::uint8_t>& corpus() {
  static std::vector<std::uint8_t> text;
  return text;
}

// The byte-level text task of the papers, which the arena measures. Command-line flags change it.
struct text_task {
  ss::index_t batch = 8;
  std::set<ss::index_t> lengths{64, 128, 256, 512, 1024, 2048, 3072, 4096, 8192, 16384};
  std::vector<ss::index_t> channels{256};
  std::vector<ss::index_t> heads{4};  // skipped if they do not divide the channels
  std::string input = "text";

  // Name of the input. A text shorter than `length` is repeated, under another name.
  std::string input_of(ss::index_t length) const {
    bool const too_long = length > static_cast<ss::index_t>(corpus().size());
    return input == "text" && too_long ? "repeated_text" : input;
  }
};
inline text_task& text_task_settings() {
  static text_task task;
  return task;
}

// Heads of attention whose inputs have that many channels.
inline ss::index_t head_count(ss::index_t channels) {
  for (ss::index_t const heads : text_task_settings().heads)
    if (channels % heads == 0) return heads;
  return 1;
}

// Calls `f(input, extents)` for every shape of the text task.
template <class F>
void for_each_task_shape(F const& f) {
  for (ss::index_t const n : text_task_settings().lengths)
    for (ss::index_t const c : text_task_settings().channels)
      f(text_task_settings().input_of(n), ss::extents3{text_task_settings().batch, n, c});
}

// Shapes of --sweep, repeated in bench/report/sweep.py: a power of two, where the rows of a column
// can map to a few cache sets, between two lengths where they do not.
template <class F>
void for_each_sweep_shape(F const& f) {
  for (ss::index_t const n : {4032, 4096, 4160}) f(ss::extents3{1, n, 256});
}

// Calls f(params) for every setting of one subject and direction.
template <class T, class F>
void for_each_setting(std::string const& subject, std::string const& direction, F const& f) {
  auto const add = [&](std::string const& policy, std::string const& input, ss::extents3 shape) {
    for (unsigned const threads : {1u, 2u})
      f(case_params{subject, direction, ss::dtype_traits<T>::name, policy, input, shape, threads});
  };
  // The text task, and noise of the same shape.
  for_each_task_shape([&](std::string const& input, ss::extents3 shape) {
    add("ascending", input, shape);
    add("ascending", "normal", shape);
    add("interleave", input, shape);
  });
  // One wide sample.
  for (ss::index_t const n : {64, 256, 1000, 1024, 2001, 2048, 3072, 4001, 4096, 16384, 65536}) {
    for (char const* input :
         {"normal", "uniform", "few_unique", "relu", "sorted", "reversed", "constant", "text"})
      add("ascending", input, {1, n, 512});
    for (char const* policy : {"descending", "interleave"}) add(policy, "normal", {1, n, 512});
  }
  for (char const* input : {"normal", "few_unique", "sorted"})
    add("ascending", input, {1, ss::index_t{1} << 20, 64});
  // The shape of a target; takes gigabytes, and a minute for the baseline.
  add("ascending", "normal", {1, ss::index_t{1} << 20, 512});
  // One column, and samples of one: branch predictors learn the comparisons of 4096 keys.
  for (ss::index_t const n : {65536, 131072}) add("ascending", "normal", {1, n, 1});
  add("ascending", "normal", {16, 4096, 1});
  // Several samples for two threads.
  for (ss::index_t const n : {1024, 4096}) add("ascending", "normal", {8, n, 512});
  for_each_sweep_shape([&](ss::extents3 shape) { add("ascending", "uniform", shape); });
  // Small shape for --smoke.
  for (char const* input : {"normal", "text"}) add("ascending", input, {2, 37, 24});
}

// True for the only policy of subjects that do not sort. They have a policy, too, so that their
// names match the baselines' names.
inline bool has_default_policy(case_params const& params) { return params.policy == "ascending"; }
template <class T, class F>
void for_each_default_setting(std::string const& subject, std::string const& direction,
                              F const& f) {
  for_each_setting<T>(subject, direction, [&](case_params const& params) {
    if (has_default_policy(params)) f(params);
  });
}

}  // namespace bench
