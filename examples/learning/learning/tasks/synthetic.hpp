// SPDX-License-Identifier: Apache-2.0
// Generated tasks: the two synthetic ones of Paramixer, and noise.
#pragma once

#include "learning/random.hpp"
#include "learning/task.hpp"

#include <cstdint>
#include <utility>

namespace learning {

/// Length and number of the samples of a synthetic task. The published code learns from
/// 100,000; the paper tests 5,000.
struct synthetic_size {
  index_t length = 128;
  std::uint64_t seed = 1;
  index_t training_samples = 100000, test_samples = 5000;

  /// The stream of a sample: those of a test come after all that one could learn from.
  random_stream stream(split from, index_t number) const {
    index_t const first = from == split::test ? first_test_sample : 0;
    return {seed, static_cast<std::uint64_t>(first + number)};
  }
  index_t samples(split from) const {
    return from == split::test ? test_samples : training_samples;
  }
};

/// Two distinct places of a sequence, all pairs alike, the lower one first.
struct two_places {
  index_t first, second;

  two_places(random_stream const& random, index_t length)
      : first(random.below(0, length)), second(random.below(1, length - 1)) {
    second += second >= first ? 1 : 0;
    if (first > second) std::swap(first, second);
  }
};

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

/// Bytes 1 .. 255 at random and two classes at random: the shape of the Long Range Arena's text
/// task, with which Sliceformer's table 3 was measured. A model learns nothing from it.
class noise final : public task {
 public:
  explicit noise(synthetic_size size) : size_(size) {}

  sample_shape shape() const override { return {size_.length, 0, 256, 2, 0}; }
  index_t size(split from) const override { return size_.samples(from); }
  void write(split from, index_t number, sample& to) const override {
    random_stream const random = size_.stream(from, number);
    for (index_t i = 0; i < size_.length; ++i)
      to.tokens[i] =
          static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(i) + 1, 255));
    to.label = static_cast<std::int32_t>(random.below(0, 2));
    to.length = size_.length;
  }

 private:
  synthetic_size size_;
};

}  // namespace learning
