// SPDX-License-Identifier: Apache-2.0
// Interface of a task: a training set and a test set of indexed samples.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <stdexcept>

namespace learning {

using slicesort::index_t;

/// The shape of a task's samples.
struct sample_shape {
  index_t length = 0;      ///< rows, padding included
  index_t features = 0;    ///< values per row; 0: each row is a token
  index_t vocabulary = 0;  ///< tokens are 0 .. vocabulary - 1; padding is 0
  index_t outputs = 1;     ///< number of classes; 1: the output is a value
  float tolerance = 0;     ///< outputs with a smaller error are correct

  bool classifies() const { return outputs > 1; }
};

/// Destination of a sample. One of `tokens` `[length]` and `features` `[length, features]` is null.
/// Rows past `length` are padding: zeros.
struct sample {
  std::int32_t* tokens = nullptr;
  float* features = nullptr;
  index_t length = 0;      ///< valid rows
  std::int32_t label = 0;  ///< the class
  float target = 0;        ///< the value to predict
};

enum class split { training, test };

/// A task. `write` is thread-safe, does not allocate, and depends only on the sample.
class task {
 public:
  virtual ~task() = default;
  virtual sample_shape shape() const = 0;
  virtual index_t size(split) const = 0;
  virtual void write(split, index_t index, sample& result) const = 0;
};

/// An error of a task's files or parameters, with a message for the user.
struct task_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Index of the first generated test sample; training samples have lower indices.
inline constexpr index_t first_test_sample = index_t{1} << 24, max_samples = first_test_sample;

}  // namespace learning
