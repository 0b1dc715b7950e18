// SPDX-License-Identifier: Apache-2.0
// Tasks by name.
#pragma once

#include "learning/flags.hpp"
#include "learning/tasks/listops.hpp"
#include "learning/tasks/mnist.hpp"
#include "learning/tasks/pathfinder.hpp"
#include "learning/tasks/published.hpp"
#include "learning/tasks/synthetic.hpp"
#include "learning/tasks/validation.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace learning {

inline std::map<std::string, std::string> task_descriptions() {
  return {
      {"adding", "add two marked numbers of --length"},
      {"order", "in which order two marked symbols of --length came"},
      {"listops", "nested lists of --shortest to --length symbols, generated"},
      {"pathfinder", "are two disks on one path of --dashes, in generated images of 32 x 32"},
      {"noise", "bytes at random, of --length: to measure speed"},
      {"listops-tsv", "the Long Range Arena's ListOps, from its files in --data"},
      {"imdb", "reviews byte by byte, from the files in --data"},
      {"aan", "pairs of papers byte by byte, from the files in --data"},
      {"cifar10", "gray pixels, from the files in --data"},
      {"mnist", "gray images in MNIST's format as patches of --patch, from the files in --data"}};
}

/// Creates a task from the parsed flags.
using task_maker = std::function<std::unique_ptr<task>()>;

namespace detail {

// Adds the flags of a generated task's samples.
template <class Size>
void add_sample_flags(CLI::App& app, Size& size) {
  add_integer(app, "data-seed", size.seed, 0, UINT64_MAX);
  add_integer(app, "training-samples", size.training_samples, 1, max_samples);
  add_integer(app, "test-samples", size.test_samples, 1, max_samples);
}
template <class Task>
task_maker add_synthetic(CLI::App& app, synthetic_size const& defaults = {}) {
  auto const size = std::make_shared<synthetic_size>(defaults);
  add_integer(app, "length", size->length, 2);
  add_sample_flags(app, *size);
  return [size] { return std::make_unique<Task>(*size); };
}
inline task_maker add_listops(CLI::App& app) {
  auto const size = std::make_shared<listops::size_config>();
  auto const* const shortest = add_integer(app, "shortest", size->shortest, 1);
  add_integer(app, "length", size->longest, 1);
  add_sample_flags(app, *size);
  return [size, shortest] {
    // The published minimum is about a quarter of the maximum.
    if (!*shortest && size->longest < 1999) size->shortest = (size->longest + 3) / 4;
    return std::make_unique<listops>(*size);
  };
}
inline task_maker add_pathfinder(CLI::App& app) {
  auto const size = std::make_shared<pathfinder::size_config>();
  add_integer(app, "dashes", size->dashes, 3, 14);
  add_integer(app, "single-dashes", size->single_dashes, 0, 1000);
  add_sample_flags(app, *size);
  return [size] { return std::make_unique<pathfinder>(*size); };
}
// Adds the flags of a published task: the folder, and a size if it is not 0.
template <class Task>
task_maker add_files(CLI::App& app, std::string const& name, index_t size = 0,
                     std::string const& size_flag = "length") {
  auto const options = std::make_shared<std::pair<std::string, index_t>>("", size);
  app.add_option("--data", options->first, "the folder of its files");
  if (size > 0) add_integer(app, size_flag, options->second, 1);
  return [name, options] {
    auto const& [data, chosen_size] = *options;
    if (data.empty()) throw usage_error("task " + name + " needs the folder of its files: --data");
    if constexpr (std::is_constructible_v<Task, std::string, index_t>)
      return std::make_unique<Task>(data, chosen_size);
    else
      return std::make_unique<Task>(data);
  };
}

inline task_maker add_named_task(CLI::App& app, std::string const& name) {
  if (name == "adding") return add_synthetic<adding>(app);
  if (name == "order") return add_synthetic<temporal_order>(app);
  if (name == "listops") return add_listops(app);
  if (name == "pathfinder") return add_pathfinder(app);
  if (name == "noise") return add_synthetic<noise>(app, {1000, 1, 10000, 100});
  if (name == "listops-tsv") return add_files<listops_tsv>(app, name, 2000);
  if (name == "imdb") return add_files<imdb>(app, name, 1000);
  if (name == "aan") return add_files<aan>(app, name, 4000);
  if (name == "cifar10") return add_files<cifar10>(app, name);
  if (name == "mnist") return add_files<mnist>(app, name, 1, "patch");
  throw usage_error("there is no task '" + name + "'; there are " +
                    list_nearest(name, task_descriptions()));
}

}  // namespace detail

/// Adds the flags of a task. Throws `usage_error` for an unknown name. `--validation N` tests on
/// the last N training samples, which do not train.
inline task_maker add_task(CLI::App& app, std::string const& name) {
  task_maker const make = detail::add_named_task(app, name);
  auto const held_out = std::make_shared<index_t>(0);
  add_integer(app, "validation", *held_out, 0, max_samples);
  return [make, held_out]() -> std::unique_ptr<task> {
    if (*held_out == 0) return make();
    return std::make_unique<validation>(make(), *held_out);
  };
}

}  // namespace learning
