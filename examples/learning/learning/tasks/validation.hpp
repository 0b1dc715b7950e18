// SPDX-License-Identifier: Apache-2.0
// Tests on samples that are held out of the training set, to choose settings without the test set.
#pragma once

#include "learning/task.hpp"

#include <memory>
#include <string>
#include <utility>

namespace learning {

/// Tests on the last `count` training samples of another task, and trains on the others.
class validation final : public task {
 public:
  validation(std::unique_ptr<task> source, index_t count)
      : source_(std::move(source)), count_(count) {
    if (count < 1 || count >= source_->size(split::training))
      throw task_error("validation: must hold out 1 to " +
                       std::to_string(source_->size(split::training) - 1) +
                       " training samples, is " + std::to_string(count));
  }

  sample_shape shape() const override { return source_->shape(); }
  index_t size(split subset) const override { return subset == split::test ? count_ : trained(); }
  void write(split subset, index_t index, sample& result) const override {
    source_->write(split::training, index + (subset == split::test ? trained() : 0), result);
  }

 private:
  index_t trained() const { return source_->size(split::training) - count_; }

  std::unique_ptr<task> source_;
  index_t count_;
};

}  // namespace learning
