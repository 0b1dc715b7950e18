// SPDX-License-Identifier: Apache-2.0
// Runs linear attention problems with a user-defined feature map.
#pragma once

#include "oracle.hpp"
#include "support/custom_feature.hpp"

namespace support {

template <class T>
linear_results<T> run_custom(custom_feature const& feature, linear_problem<T> const& problem,
                             any_exec const& exec, memory_layout layout = {}) {
  return run_linear_with(
      problem, layout, [&](linear_tensors<T>& tensors, linear_results<T>& results) {
        with_feature(feature, problem,
                     [&](auto const& op) { call_linear(op, problem, exec, tensors, results); });
      });
}

}  // namespace support
