// SPDX-License-Identifier: Apache-2.0
// Calls of linear attention with a feature map of the caller's.
#pragma once

#include "oracle.hpp"
#include "support/custom_feature.hpp"

namespace support {

// A problem's calls with that map in place of its feature.
template <class T>
linear_results<T> run_own(custom_feature const& feature, linear_problem<T> const& p,
                          any_exec const& exec, memory_layout layout = {}) {
  return run_linear_by(p, layout, [&](linear_stacks<T>& t, linear_results<T>& results) {
    with_feature(feature, p, [&](auto const& op) { call_linear(op, p, exec, t, results); });
  });
}

}  // namespace support
