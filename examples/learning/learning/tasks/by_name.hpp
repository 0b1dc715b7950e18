// SPDX-License-Identifier: Apache-2.0
// Tasks by name.
#pragma once

#include "learning/flags.hpp"
#include "learning/tasks/adding.hpp"
#include "learning/tasks/files/aan.hpp"
#include "learning/tasks/files/cifar10.hpp"
#include "learning/tasks/files/imdb.hpp"
#include "learning/tasks/files/listops_tsv.hpp"
#include "learning/tasks/listops.hpp"
#include "learning/tasks/noise.hpp"
#include "learning/tasks/temporal_order.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace learning {

inline std::map<std::string, std::string> all_tasks() {
  return {{"adding", "add two marked numbers of --length"},
          {"order", "in which order two marked symbols of --length came"},
          {"listops", "nested lists of --shortest to --length symbols, generated"},
          {"noise", "bytes at random, of --length: to measure speed"},
          {"listops-tsv", "the Long Range Arena's ListOps, from its files in --data"},
          {"imdb", "reviews byte by byte, from the files in --data"},
          {"aan", "pairs of papers byte by byte, from the files in --data"},
          {"cifar10", "gray pixels, from the files in --data"}};
}

// Reads which samples a generated task has.
template <class Size>
void read_samples(flags const& f, Size& size) {
  size.seed = f.whole<std::uint64_t>("data-seed", 1, 0, UINT64_MAX);
  size.training_samples =
      f.whole<index_t>("training-samples", size.training_samples, 1, most_samples);
  size.test_samples = f.whole<index_t>("test-samples", size.test_samples, 1, most_samples);
}
inline listops make_listops(flags const& f) {
  listops::size_of size;
  size.longest = f.whole<index_t>("length", size.longest, 1);
  // The published shortest is about a quarter of the longest, too.
  index_t const shortest = size.longest >= 1999 ? size.shortest : (size.longest + 3) / 4;
  size.shortest = f.whole<index_t>("shortest", shortest, 1);
  read_samples(f, size);
  return listops(size);
}

/// The task that the flags name. Throws `usage_error` or `task_error`.
inline std::unique_ptr<task> make_task(std::string const& name, flags const& f) {
  if (name == "listops") return std::make_unique<listops>(make_listops(f));
  if (name == "adding" || name == "order") {
    synthetic_size size;
    size.length = f.whole<index_t>("length", size.length, 2);
    read_samples(f, size);
    if (name == "adding") return std::make_unique<adding>(size);
    return std::make_unique<temporal_order>(size);
  }
  if (name == "noise")
    return std::make_unique<noise>(f.whole<index_t>("length", 1000, 1),
                                   f.whole<index_t>("test-samples", 100, 1, most_samples));
  auto const all = all_tasks();
  if (all.count(name) == 0) {
    std::vector<std::string> names;
    for (auto const& [one, about] : all) names.push_back(one);
    throw usage_error("there is no task '" + name + "'; there are " + nearest_first(name, names));
  }
  std::string const data = f.text("data", "");
  if (data.empty()) throw usage_error("task " + name + " needs the folder of its files: --data");
  if (name == "cifar10") return std::make_unique<cifar10>(data);
  auto const length = [&](index_t published) { return f.whole<index_t>("length", published, 1); };
  if (name == "imdb") return std::make_unique<imdb>(data, length(1000));
  if (name == "aan") return std::make_unique<aan>(data, length(4000));
  return std::make_unique<listops_tsv>(data, length(2000));
}

}  // namespace learning
