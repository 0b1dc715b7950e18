// SPDX-License-Identifier: Apache-2.0
// Generated tasks: Paramixer's two synthetic tasks, and noise.
#pragma once

#include "learning/random.hpp"
#include "learning/task.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace learning {

/// Length and number of samples of a synthetic task. The published code trains on 100,000; the
/// paper tests on 5,000.
struct synthetic_size {
  index_t length = 128;
  std::uint64_t seed = 1;
  index_t training_samples = 100000, test_samples = 5000;
};

/// A task of samples from random streams, all of one length.
class synthetic : public task {
 public:
  synthetic(synthetic_size size, index_t shortest) : size_(size) {
    if (size.length < shortest)
      throw task_error("synthetic: the length must be at least " + std::to_string(shortest));
  }

  index_t size(split subset) const final {
    return subset == split::test ? size_.test_samples : size_.training_samples;
  }
  void write(split subset, index_t index, sample& result) const final {
    // Streams of test samples follow those of all training samples.
    index_t const first = subset == split::test ? first_test_sample : 0;
    result.length = size_.length;
    draw({size_.seed, static_cast<std::uint64_t>(first + index)}, result);
  }

 protected:
  virtual void draw(random_stream const& random, sample& result) const = 0;

  synthetic_size size_;
};

/// Two distinct positions of a sequence, uniform over pairs, in ascending order.
struct two_positions {
  index_t first, second;

  two_positions(random_stream const& random, index_t length)
      : first(random.below(0, length)), second(random.below(1, length - 1)) {
    second += second >= first ? 1 : 0;
    if (first > second) std::swap(first, second);
  }
};

/// Row i is `(x_i, mark_i)`, with x uniform in (-1, 1] and marks of 1 at two positions p and q. The
/// target is `0.5 + (x_p + x_q) / 4`, correct with an error below 0.04 (Paramixer, section 4.1 and
/// `synth_data_generation.py`). A constant output of 0.5 is correct for 15.36 % of them.
class adding final : public synthetic {
 public:
  explicit adding(synthetic_size size) : synthetic(size, 2) {}

  sample_shape shape() const override { return {size_.length, 2, 0, 1, 0.04F}; }

 private:
  void draw(random_stream const& random, sample& result) const override {
    two_positions const marked(random, size_.length);
    for (index_t i = 0; i < size_.length; ++i) {
      result.features[2 * i] = static_cast<float>(value(random, i));
      result.features[2 * i + 1] = i == marked.first || i == marked.second ? 1.0F : 0.0F;
    }
    result.target =
        static_cast<float>(0.5 + (value(random, marked.first) + value(random, marked.second)) / 4);
  }
  static double value(random_stream const& random, index_t i) {
    return 1 - 2 * random.unit(static_cast<std::uint64_t>(2 + i));
  }
};

/// Random symbols 0 to 3, and X = 4 or Y = 5 at two positions. The class is their order: XX 0, XY
/// 1, YX 2, YY 3 (Paramixer, section 4.1 and `synth_data_generation.py`).
class temporal_order final : public synthetic {
 public:
  explicit temporal_order(synthetic_size size) : synthetic(size, 2) {}

  sample_shape shape() const override { return {size_.length, 0, 6, 4, 0}; }

 private:
  void draw(random_stream const& random, sample& result) const override {
    for (index_t i = 0; i < size_.length; ++i)
      result.tokens[i] =
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(4 + i), 4));
    two_positions const marked(random, size_.length);
    index_t const first = random.below(2, 2), second = random.below(3, 2);
    result.tokens[marked.first] = static_cast<std::int32_t>(4 + first);
    result.tokens[marked.second] = static_cast<std::int32_t>(4 + second);
    result.label = static_cast<std::int32_t>(2 * first + second);
  }
};

/// Random bytes 1 .. 255 and a random class of two, in the shape of the Long Range Arena's text
/// task (Sliceformer, table 3). Only measures speed: there is nothing to learn.
class noise final : public synthetic {
 public:
  explicit noise(synthetic_size size) : synthetic(size, 1) {}

  sample_shape shape() const override { return {size_.length, 0, 256, 2, 0}; }

 private:
  void draw(random_stream const& random, sample& result) const override {
    for (index_t i = 0; i < size_.length; ++i)
      result.tokens[i] =
          static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(i) + 1, 255));
    result.label = static_cast<std::int32_t>(random.below(0, 2));
  }
};

}  // namespace learning
