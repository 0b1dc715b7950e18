// SPDX-License-Identifier: Apache-2.0
// Samples as a model reads them.
#pragma once

#include "learning/call.hpp"
#include "learning/task.hpp"

#include <cstdint>

namespace learning {

/// Some samples of a task, in memory of the trainer's.
template <class T>
struct batch {
  index_t size = 0;
  sample_shape shape{};
  std::int32_t const* tokens = nullptr;  ///< `[size, length]`, or
  T const* numbers = nullptr;            ///< `[size, length, features]`
  tensor1<index_t const> lengths{};      ///< `[size]`, or empty: whole samples
  std::int32_t const* labels = nullptr;  ///< `[size]` classes, or
  T const* targets = nullptr;            ///< `[size]` numbers

  matrix<T const> numbers_matrix() const { return {numbers, size * shape.length, shape.features}; }
};

}  // namespace learning
