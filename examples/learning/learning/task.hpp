// SPDX-License-Identifier: Apache-2.0
// What a task is to a model and a trainer: numbered samples.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <stdexcept>

namespace learning {

using slicesort::index_t;

/// What all samples of a task look like.
struct sample_shape {
  index_t length = 0;      ///< rows, padding included
  index_t features = 0;    ///< numbers in a row; 0: a row is a token
  index_t vocabulary = 0;  ///< tokens are 0 .. vocabulary - 1, and 0 is padding where there is some
  index_t outputs = 1;     ///< classes; 1: the answer is a number
  float tolerance = 0;     ///< a number is right if it is nearer than that

  bool classifies() const { return outputs > 1; }
};

/// Where a sample is written to: one of `tokens` `[length]` and `numbers` `[length, features]` is
/// null. Rows past `length` are padding: tokens and numbers of 0.
struct sample {
  std::int32_t* tokens = nullptr;
  float* numbers = nullptr;
  index_t length = 0;      ///< valid rows
  std::int32_t label = 0;  ///< the class
  float target = 0;        ///< the number
};

enum class split { training, test };

/// A task. `write` may be called by several threads at once, does not allocate, and gives the same
/// sample for the same number.
class task {
 public:
  virtual ~task() = default;
  virtual sample_shape shape() const = 0;
  virtual index_t size(split) const = 0;
  virtual void write(split, index_t number, sample& to) const = 0;
};

/// What is missing or wrong about a task's files or parameters, in a sentence for the user.
struct task_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Generated test samples are numbers from here on, of the same streams as those to learn from.
inline constexpr index_t first_test_sample = index_t{1} << 24, most_samples = first_test_sample;

}  // namespace learning
