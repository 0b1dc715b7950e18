// SPDX-License-Identifier: Apache-2.0
// Noise, to measure speed and memory with: a model learns nothing from it.
#pragma once

#include "learning/random.hpp"
#include "learning/task.hpp"

#include <cstdint>

namespace learning {

/// Bytes 1 .. 255 at random and two classes at random, of any length: the shape of the Long Range
/// Arena's text task, with which Sliceformer's table 3 was measured.
class noise final : public task {
 public:
  explicit noise(index_t length, index_t tests = 10000) : length_(length), tests_(tests) {}

  sample_shape shape() const override { return {length_, 0, 256, 2, 0}; }
  index_t size(split from) const override { return from == split::test ? tests_ : 10000; }
  void write(split from, index_t number, sample& to) const override {
    random_stream const random(from == split::test ? 1 : 0, static_cast<std::uint64_t>(number));
    for (index_t i = 0; i < length_; ++i)
      to.tokens[i] =
          static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(i) + 1, 255));
    to.label = static_cast<std::int32_t>(random.below(0, 2));
    to.length = length_;
  }

 private:
  index_t length_, tests_;
};

}  // namespace learning
