// SPDX-License-Identifier: Apache-2.0
// What a bench program measures. Each subject's file is compiled once per element type and
// registers itself, so nothing else lists subjects.
#pragma once

#include <slicesort/dtype.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace bench {

struct subject {
  std::string name, dtype;
  std::function<void()> add;  // its cases
};

inline std::vector<subject>& all_subjects() {
  static std::vector<subject> subjects;
  return subjects;
}

// `subject_of<T> const here("max_exchange", add_max_exchange<T>);`
template <class T>
struct subject_of {
  subject_of(char const* name, void (*add)()) {
    all_subjects().push_back({name, slicesort::dtype_traits<T>::name, add});
  }
};

// Cases run in the order in which they are added; sorting makes it independent of the linker.
inline void add_all_subjects() {
  auto& all = all_subjects();
  std::sort(all.begin(), all.end(), [](subject const& a, subject const& b) {
    return std::tie(a.dtype, a.name) < std::tie(b.dtype, b.name);
  });
  for (subject const& s : all) s.add();
}

}  // namespace bench
