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
class batch_loader {
 public:
  batch_loader(task const& source, index_t batch_size, std::uint64_t seed)
      : task_(source),
        shape_(source.shape()),
        batch_size_(batch_size),
        seed_(seed),
        order_(static_cast<std::size_t>(source.size(split::training))),
        features_(static_cast<std::size_t>(batch_size_ * shape_.length * shape_.features)),
        tokens_(shape_.features > 0 ? 0 : static_cast<std::size_t>(batch_size_ * shape_.length)),
        labels_(static_cast<std::size_t>(batch_size_)),
        lengths_(labels_.size()),
        targets_(labels_.size()) {
    if (source.size(split::training) < batch_size_)
      throw task_error("a batch has more samples than there are to learn from");
  }

  /// Full batches per epoch. The incomplete last batch, which differs each time, is dropped.
  index_t batches_per_epoch() const { return static_cast<index_t>(order_.size()) / batch_size_; }

  /// Returns training batch `batch_index`, counted over epochs. Each epoch shuffles the samples.
  batch<float> training_batch(thread_pool& threads, index_t batch_index) {
    shuffle_epoch(batch_index / batches_per_epoch());
    index_t const first = batch_index % batches_per_epoch() * batch_size_;
    return fill(threads, split::training, batch_size_,
                [&](index_t b) { return order_[static_cast<std::size_t>(first + b)]; });
  }
  /// Returns the batch of test samples from `first` on: smaller at the end, and empty past it.
  batch<float> test_batch(thread_pool& threads, index_t first) {
    index_t const count = std::clamp<index_t>(task_.size(split::test) - first, 0, batch_size_);
    return fill(threads, split::test, count, [&](index_t b) { return first + b; });
  }
  /// Returns a full batch without data, to measure the memory of a step.
  batch<float> largest_batch() const { return view(batch_size_); }

 private:
  // Fisher-Yates shuffle with a random stream per epoch.
  void shuffle_epoch(index_t epoch) {
    if (epoch == epoch_) return;
    epoch_ = epoch;
    std::iota(order_.begin(), order_.end(), index_t{0});
    random_stream const random(seed_ ^ stream_of("order"), static_cast<std::uint64_t>(epoch));
    for (std::size_t remaining = order_.size(); remaining > 1; --remaining)
      std::swap(order_[remaining - 1], order_[static_cast<std::size_t>(random.below(
                                           remaining, static_cast<index_t>(remaining)))]);
  }
  template <class IndexOf>
  batch<float> fill(thread_pool& threads, split subset, index_t count, IndexOf const& index_of) {
    threads.parallel_for(static_cast<unsigned>(count), [&](unsigned i) {
      index_t const b = i;
      sample output;
      if (shape_.features > 0)
        output.features = features_.data() + b * shape_.length * shape_.features;
      else
        output.tokens = tokens_.data() + b * shape_.length;
      task_.write(subset, index_of(b), output);
      lengths_[i] = output.length, labels_[i] = output.label, targets_[i] = output.target;
    });
    return view(count);
  }
  batch<float> view(index_t count) const {
    batch<float> result;
    result.size = count, result.shape = shape_;
    result.tokens = tokens_.data(), result.features = features_.data();
    result.lengths = {lengths_.data(), count};
    result.labels = labels_.data(), result.targets = targets_.data();
    return result;
  }

  task const& task_;
  sample_shape shape_;
  index_t batch_size_, epoch_ = -1;
  std::uint64_t seed_;
  std::vector<index_t> order_;
  std::vector<float> features_;
  std::vector<std::int32_t> tokens_, labels_;
  std::vector<index_t> lengths_;
  std::vector<float> targets_;
};

}  // namespace learning
