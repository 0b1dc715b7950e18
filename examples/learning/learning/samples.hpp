// SPDX-License-Identifier: Apache-2.0
// Batches of a task's samples, in the order of training and of a test.
#pragma once

#include "learning/call.hpp"
#include "learning/random.hpp"
#include "learning/task.hpp"
#include "support/thread_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace learning {

/// Fills one batch after the other, in memory of its own.
class samples {
 public:
  samples(task const& from, index_t batch_size, std::uint64_t seed)
      : task_(from),
        shape_(from.shape()),
        size_(batch_size),
        seed_(seed),
        order_(static_cast<std::size_t>(from.size(split::training))),
        numbers_(static_cast<std::size_t>(size_ * shape_.length * shape_.features)),
        tokens_(shape_.features > 0 ? 0 : static_cast<std::size_t>(size_ * shape_.length)),
        labels_(static_cast<std::size_t>(size_)),
        lengths_(labels_.size()),
        targets_(labels_.size()) {
    if (from.size(split::training) < size_)
      throw task_error("a batch has more samples than there are to learn from");
  }

  /// Whole batches of an epoch; samples that do not fill one are left out, others every time.
  index_t batches() const { return static_cast<index_t>(order_.size()) / size_; }

  /// Batch `number`, from 0, of training: every epoch takes all samples in an order of its own.
  batch<float> training(thread_pool& threads, index_t number) {
    shuffle_for(number / batches());
    index_t const first = number % batches() * size_;
    return fill(threads, split::training, size_,
                [&](index_t b) { return order_[static_cast<std::size_t>(first + b)]; });
  }
  /// Up to a batch of test samples from `first` on; none past the last.
  batch<float> test(thread_pool& threads, index_t first) {
    index_t const count = std::clamp<index_t>(task_.size(split::test) - first, 0, size_);
    return fill(threads, split::test, count, [&](index_t b) { return first + b; });
  }
  /// As large as any, to count memory with.
  batch<float> whole() const { return view(size_); }

 private:
  // Fisher and Yates's shuffle with numbers of a stream for each epoch.
  void shuffle_for(index_t epoch) {
    if (epoch == epoch_) return;
    epoch_ = epoch;
    std::iota(order_.begin(), order_.end(), index_t{0});
    random_stream const random(seed_ ^ stream_of("order"), static_cast<std::uint64_t>(epoch));
    for (std::size_t left = order_.size(); left > 1; --left)
      std::swap(order_[left - 1],
                order_[static_cast<std::size_t>(random.below(left, static_cast<index_t>(left)))]);
  }
  template <class NumberOf>
  batch<float> fill(thread_pool& threads, split from, index_t count, NumberOf const& number) {
    threads.parallel_for(static_cast<unsigned>(count), [&](unsigned i) {
      index_t const b = i;
      sample to;
      if (shape_.features > 0)
        to.numbers = numbers_.data() + b * shape_.length * shape_.features;
      else
        to.tokens = tokens_.data() + b * shape_.length;
      task_.write(from, number(b), to);
      lengths_[i] = to.length, labels_[i] = to.label, targets_[i] = to.target;
    });
    return view(count);
  }
  batch<float> view(index_t count) const {
    batch<float> all;
    all.size = count, all.shape = shape_;
    all.tokens = tokens_.data(), all.numbers = numbers_.data();
    all.lengths = {lengths_.data(), count};
    all.labels = labels_.data(), all.targets = targets_.data();
    return all;
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
