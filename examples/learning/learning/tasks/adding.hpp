// SPDX-License-Identifier: Apache-2.0
// The adding problem.
#pragma once

#include "learning/tasks/places.hpp"

namespace learning {

/// Row i is `(x_i, mark_i)`, x uniform in (-1, 1], marks 1 at two places; the answer is
/// `0.5 + (x_p + x_q) / 4`, right if nearer than 0.04 (Paramixer, section 4.1 and
/// `synth_data_generation.py`). A constant 0.5 is right for 15.36 %.
class adding final : public task {
 public:
  explicit adding(synthetic_size size) : size_(size) {
    if (size.length < 2) throw task_error("adding: the length must be at least 2");
  }

  sample_shape shape() const override { return {size_.length, 2, 0, 1, 0.04F}; }
  index_t size(split from) const override { return size_.samples(from); }
  void write(split from, index_t number, sample& to) const override {
    random_stream const random = size_.stream(from, number);
    two_places const marked(random, size_.length);
    for (index_t i = 0; i < size_.length; ++i) {
      to.numbers[2 * i] = static_cast<float>(value(random, i));
      to.numbers[2 * i + 1] = i == marked.first || i == marked.second ? 1.0F : 0.0F;
    }
    to.length = size_.length;
    to.target =
        static_cast<float>(0.5 + (value(random, marked.first) + value(random, marked.second)) / 4);
  }

 private:
  static double value(random_stream const& random, index_t i) {
    return 1 - 2 * random.unit(static_cast<std::uint64_t>(2 + i));
  }

  synthetic_size size_;
};

}  // namespace learning
