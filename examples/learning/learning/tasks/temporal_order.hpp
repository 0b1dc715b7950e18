// SPDX-License-Identifier: Apache-2.0
// The temporal order problem.
#pragma once

#include "learning/tasks/places.hpp"

namespace learning {

/// Symbols 0 to 3 at random, and at two places X = 4 or Y = 5; the class says which came in which
/// order: XX 0, XY 1, YX 2, YY 3 (Paramixer, section 4.1 and `synth_data_generation.py`).
class temporal_order final : public task {
 public:
  explicit temporal_order(synthetic_size size) : size_(size) {
    if (size.length < 2) throw task_error("temporal_order: the length must be at least 2");
  }

  sample_shape shape() const override { return {size_.length, 0, 6, 4, 0}; }
  index_t size(split from) const override { return size_.samples(from); }
  void write(split from, index_t number, sample& to) const override {
    random_stream const random = size_.stream(from, number);
    for (index_t i = 0; i < size_.length; ++i)
      to.tokens[i] = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(4 + i), 4));
    two_places const marked(random, size_.length);
    index_t const first = random.below(2, 2), second = random.below(3, 2);
    to.tokens[marked.first] = static_cast<std::int32_t>(4 + first);
    to.tokens[marked.second] = static_cast<std::int32_t>(4 + second);
    to.label = static_cast<std::int32_t>(2 * first + second);
    to.length = size_.length;
  }

 private:
  synthetic_size size_;
};

}  // namespace learning
