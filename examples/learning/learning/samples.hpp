// SPDX-License-Identifier: Apache-2.0
// Batches of a task's samples, for training and test.
#pragma once

#include "learning/context.hpp"
#include "learning/random.hpp"
#include "learning/task.hpp"
#include "support/thread_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace learning {

/// Writes batches to memory that it owns; each call overwrites the previous batch.
class samples {
 public:
  samples(task const& source, index_t batch_size, std::uint64_t seed)
      : task_(source),
        shape_(source.shape()),
        size_(batch_size),
        seed_(seed),
        order_(static_cast<std::size_t>(source.size(split::training))),
        numbers_(static_cast<std::size_t>(size_ * shape_.length * shape_.features)),
        tokens_(shape_.features > 0 ? 0 : static_cast<std::size_t>(size_ * shape_.length)),
        labels_(static_cast<std::size_t>(size_)),
        lengths_(labels_.size()),
        targets_(labels_.size()) {
    if (source.size(split::training) < size_)
      throw task_error("a batch has more samples than there are to learn from");
  }

  /// Full batches per epoch. An epoch omits the samples that remain, different ones each time.
  index_t batches() const { return static_cast<index_t>(order_.size()) / size_; }

  /// Training batch `number`, from 0. Each epoch shuffles the samples.
  batch<float> training(thread_pool& threads, index_t number) {
    shuffle_for(number / batches());
    index_t const first = number % batches() * size_;
    return fill(threads, split::training, size_,
                [&](index_t b) { return order_[static_cast<std::size_t>(first + b)]; });
  }
  /// Batch of test samples from `first` on; smaller at the end, and empty past it.
  batch<float> test(thread_pool& threads, index_t first) {
    index_t const count = std::clamp<index_t>(task_.size(split::test) - first, 0, size_);
    return fill(threads, split::test, count, [&](index_t b) { return first + b; });
  }
  /// A full batch, to count memory.
  batch<float> largest_batch() const { return view(size_); }

 private:
  // Fisher-Yates shuffle with a random stream per epoch.
  void shuffle_for(index_t epoch) {
    if (epoch == epoch_) return;
    epoch_ = epoch;
    std::iota(order_.begin(), order_.end(), index_t{0});
    random_stream const random(seed_ ^ stream_of("order"), static_cast<std::uint64_t>(epoch));
    for (std::size_t remaining = order_.size(); remaining > 1; --remaining)
      std::swap(order_[remaining - 1], order_[static_cast<std::size_t>(random.below(
                                           remaining, static_cast<index_t>(remaining)))]);
  }
  template <class NumberOf>
  batch<float> fill(thread_pool& threads, split subset, index_t count, NumberOf const& number) {
    threads.parallel_for(static_cast<unsigned>(count), [&](unsigned i) {
      index_t const b = i;
      sample result;
      if (shape_.features > 0)
        result.numbers = numbers_.data() + b * shape_.length * shape_.features;
      else
        result.tokens = tokens_.data() + b * shape_.length;
      task_.write(subset, number(b), result);
      lengths_[i] = result.length, labels_[i] = result.label, targets_[i] = result.target;
    });
    return view(count);
  }
  batch<float> view(index_t count) const {
    batch<float> result;
    result.size = count, result.shape = shape_;
    result.tokens = tokens_.data(), result.numbers = numbers_.data();
    result.lengths = {lengths_.data(), count};
    result.labels = labels_.data(), result.targets = targets_.data();
    return result;
  }

  task const& task_;
  sample_shape shape_;
  index_t size_, epoch_ = -1;
  std::uint64_t seed_;
  std::vector<index_t> order_;
  std::vector<float> numbers_;
  std::vector<std::int32_t> tokens_, labels_;
  std::vector<index_t> lengths_;
  std::vector<float> targets_;
};

}  // namespace learning
