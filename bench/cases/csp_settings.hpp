// SPDX-License-Identifier: Apache-2.0
// Settings of the csp cases. A policy such as linear-reference-G:16 names shift, alignment and rows
// per group, where N means all.
#pragma once

#include "driver/settings.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <type_traits>

namespace bench {

struct csp_policy {
  std::string shift, alignment, group;

  explicit csp_policy(std::string const& name)
      : shift(name.substr(0, name.find('-'))),
        alignment(name.substr(shift.size() + 1, name.rfind("-G:") - shift.size() - 1)),
        group(name.substr(name.rfind(':') + 1)) {}

  bool is_aligned() const { return alignment == "reference"; }
  ss::index_t rows_per_group(ss::index_t length) const {
    return group == "N" ? length : std::min<ss::index_t>(std::stol(group), length);
  }
};

// Calls f(params) for every setting of one subject and direction.
template <class T, class F>
void for_each_csp_setting(std::string const& subject, std::string const& direction, F const& f) {
  std::set<std::string> names;
  using list = std::initializer_list<char const*>;
  auto const add = [&](list shifts, list alignments, list groups, list inputs, ss::extents3 shape) {
    for (std::string const input : inputs)
      for (std::string const shift : shifts)
        for (std::string const alignment : alignments)
          for (std::string const group : groups)
            for (unsigned const threads : {1u, 2u}) {
              case_params const params{subject,
                                       direction,
                                       ss::dtype_traits<T>::name,
                                       shift + '-' + alignment + "-G:" + group,
                                       input,
                                       shape,
                                       threads};
              if (names.insert(params.name()).second) f(params);
            }
  };
  list const shifts{"none", "linear"}, alignments{"reference", "ascending"};
  // One wide sample: shift only, pairs, larger groups, and the complete sort.
  add({"linear"}, alignments, {"1", "2", "16", "64", "N"}, {"normal"}, {1, 4096, 512});
  if (std::is_same_v<T, float>) {
    add(shifts, alignments, {"1", "2", "16", "64", "N"}, {"normal", "uniform", "text"},
        {1, 4096, 512});
    // Figure of time against group size.
    add({"linear"}, alignments,
        {"1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024", "2048", "N"},
        {"normal"}, {1, 4096, 512});
    for (ss::index_t const n : {1000, 1024, 16384, 65536})
      add({"linear"}, {"reference"}, {"2", "16", "64"}, {"normal"}, {1, n, 512});
  }
  // The text task: small groups, and the complete sort that the paper uses there.
  for_each_task_shape([&](std::string const& input, ss::extents3 shape) {
    add({"linear"}, {"reference"}, {"2", "16"}, {input.c_str()}, shape);
    add({"none"}, {"ascending"}, {"N"}, {input.c_str()}, shape);
  });
  // Several samples for two threads.
  add({"linear"}, {"reference"}, {"2", "16"}, {"normal"}, {8, 4096, 512});
  for_each_sweep_shape([&](ss::extents3 shape) {
    add({"linear"}, alignments, {"1", "2", "16", "64", "N"}, {"uniform"}, shape);
    add({"none"}, {"ascending"}, {"2", "16"}, {"uniform"}, shape);
  });
  // Small shapes for --smoke.
  add(shifts, alignments, {"1", "2", "16", "N"}, {"normal"}, {2, 37, 24});
  add({"linear"}, {"reference"}, {"2"}, {"text"}, {2, 37, 24});
}

}  // namespace bench
