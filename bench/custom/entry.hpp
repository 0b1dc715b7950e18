// SPDX-License-Identifier: Apache-2.0
// Registers user-defined operators as cases; <slicesort/bench.hpp> documents the interface.
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

// Throws usage_error for names that would break the name of a case, a regular expression or a
// blank-separated list.
inline void check_name(std::string const& name, std::string const& dtype) {
  auto const is_allowed = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_allowed) ||
      name.rfind("baseline", 0) == 0)
    throw usage_error("an entry is named '" + name +
                      "': names are letters, digits, '_', '-' and '.', and do not begin with "
                      "'baseline'");
  auto const& subjects = all_subjects();
  auto const matches = [&](subject const& s) { return s.name == name && s.dtype == dtype; };
  if (std::count_if(subjects.begin(), subjects.end(), matches) > 1)
    throw usage_error("two entries are named " + name);
}

template <class T, class Op>
void add_custom(std::string const& name, Op const& op) {
  static_assert(
      input_count<Op, T>() != 0,
      "slicesort::bench: the operator needs forward(exec, x, y) or forward(exec, q, k, v, y) "
      "for tensor3<T const> and tensor3<T> of every element type in entry<T...>");
  if constexpr (input_count<Op, T>() != 0) {
    check_signatures<Op, T, input_count<Op, T>()>();
    using calls = signatures<Op, T, input_count<Op, T>()>;
    check_name(name, ss::dtype_traits<T>::name);
    auto const add = [&](char const* direction) {
      for_each_setting<T>(name, direction, [&](case_params params) {
        if (!has_default_policy(params)) return;
        params.policy = "custom";
        all_cases().push_back({params, [op](case_params const& p) -> std::unique_ptr<job> {
                                 return std::make_unique<custom_job<Op, T>>(p, op);
                               }});
      });
    };
    add("forward");
    add("forward_values");
    if constexpr (calls::has_short_backward || calls::has_long_backward) add("backward");
  }
}

template <class... T>
struct entry {
  template <class Op>
  entry(std::string const& name, Op const& op) {
    if constexpr (sizeof...(T) == 0)
      add<float>(name, op);
    else
      (add<T>(name, op), ...);
  }

 private:
  template <class Element, class Op>
  static void add(std::string const& name, Op const& op) {
    all_subjects().push_back(
        {name, ss::dtype_traits<Element>::name, [name, op] { add_custom<Element>(name, op); }});
  }
};
template <class Op>
entry(std::string const&, Op const&) -> entry<>;
template <class Op>
entry(char const*, Op const&) -> entry<>;

template <class... T>
struct contestant : entry<T...> {
  template <class Op>
  [[deprecated("slicesort: renamed to entry")]] contestant(std::string const& name, Op const& op)
      : entry<T...>(name, op) {}
};
template <class Op>
contestant(char const*, Op const&) -> contestant<>;

}  // namespace bench
