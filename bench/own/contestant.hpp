// SPDX-License-Identifier: Apache-2.0
// Puts an operator that somebody else wrote among the cases: <slicesort/bench.hpp> says how.
#pragma once

#include "../driver/case.hpp"
#include "../driver/settings.hpp"
#include "job.hpp"

#include <slicesort/dtype.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

namespace bench {

// Names are words of a case's name, of regular expressions and of a list that is split at blanks.
inline void check_name(std::string const& name, std::string const& dtype) {
  auto const fits = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), fits) ||
      name.rfind("baseline", 0) == 0)
    throw usage_error("a contestant is called '" + name +
                      "': names are letters, digits, '_', '-' and '.', and do not begin with "
                      "'baseline'");
  auto const& subjects = all_subjects();
  auto const has_it = [&](subject const& s) { return s.name == name && s.dtype == dtype; };
  if (std::count_if(subjects.begin(), subjects.end(), has_it) > 1)
    throw usage_error("two contestants are called " + name);
}

template <class T, class Op>
void add_own(std::string const& name, Op const& op) {
  static_assert(count_of_inputs<Op, T>() != 0,
                "slicesort::bench: the operator needs forward(on, x, y) or forward(on, q, k, v, y) "
                "for tensor3<T const> and tensor3<T> of every element type in contestant<T...>");
  if constexpr (count_of_inputs<Op, T>() != 0) {
    check_forms<Op, T, count_of_inputs<Op, T>()>();
    using f = forms<Op, T, count_of_inputs<Op, T>()>;
    check_name(name, ss::dtype_traits<T>::name);
    auto const add = [&](char const* direction) {
      for_each_setting<T>(name, direction, [&](fields at) {
        if (!is_plain(at)) return;
        at.policy = "own";
        all_cases().push_back({at, [op](fields const& of) -> std::unique_ptr<job> {
                                 return std::make_unique<own_job<Op, T>>(of, op);
                               }});
      });
    };
    add("forward");
    add("forward_values");
    if constexpr (f::short_backward || f::long_backward) add("backward");
  }
}

template <class... T>
struct contestant {
  template <class Op>
  contestant(std::string const& name, Op const& op) {
    if constexpr (sizeof...(T) == 0)
      add<float>(name, op);
    else
      (add<T>(name, op), ...);
  }

 private:
  template <class One, class Op>
  static void add(std::string const& name, Op const& op) {
    all_subjects().push_back(
        {name, ss::dtype_traits<One>::name, [name, op] { add_own<One>(name, op); }});
  }
};
template <class Op>
contestant(std::string const&, Op const&) -> contestant<>;
template <class Op>
contestant(char const*, Op const&) -> contestant<>;

}  // namespace bench
