// SPDX-License-Identifier: Apache-2.0
// What the two synthetic tasks of Paramixer have in common: two marked places in a sequence.
#pragma once

#include "learning/random.hpp"
#include "learning/task.hpp"

#include <algorithm>
#include <cstdint>

namespace learning {

/// How long and how many the samples of a synthetic task are. The published code learns from
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

}  // namespace learning
