// SPDX-License-Identifier: Apache-2.0
// Trains a model on a task's samples, and tests it.
#pragma once

#include "learning/encoder.hpp"
#include "learning/gemm.hpp"
#include "learning/loss.hpp"
#include "learning/optimizer.hpp"
#include "learning/samples.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace learning {

struct training_config {
  index_t batch = 32, steps = 1000;
  /// Samples computed at a time, which limits the memory of a step; gradients add up to those of
  /// the batch, apart from rounding and dropout. 0: all.
  index_t micro_batch = 0;
  schedule rate{};
  adam update{};
  std::uint64_t seed = 0;  ///< seed of dropout and of the sample order
  unsigned threads = 1;    ///< does not change results
};

/// Trains a model. Steps after the first allocate nothing, except in recipes (mixers/recipe.hpp).
class trainer {
 public:
  trainer(model<float>& model, task const& source, training_config const& config)
      : model_(model),
        config_(config),
        threads_(config.threads),
        batches_(source, config.batch, config.seed),
        context_{threads_, memory_} {
    use_single_threaded_blas();
    context_.seed = config.seed;
    batch<float> const full_batch = batches_.largest_batch();
    run(full_batch, true);  // measures the memory of both kinds of steps
    run(full_batch, false);
  }

  /// Completed steps and their duration in seconds, including those before a resume.
  index_t step() const { return step_; }
  double seconds() const { return seconds_; }
  void resume(index_t step, double seconds) { step_ = step, seconds_ = seconds; }

  index_t steps() const { return config_.steps; }
  /// Bytes of a step's memory, and of the parameters with their gradients and moments.
  std::size_t step_bytes() const { return memory_.bytes(); }
  std::size_t parameter_bytes() {
    return static_cast<std::size_t>(model_.params().size()) * 4 * sizeof(float);
  }

  /// Trains one step. Returns the score of the batch before the update.
  score train() {
    auto const start = std::chrono::steady_clock::now();
    allocate();
    batch<float> const input = batches_.training_batch(threads_, step_);
    index_t const passes = (config_.batch + micro_batch() - 1) / micro_batch();
    context_.pass = static_cast<std::uint64_t>(step_ * passes);
    score const result = run(input, true);
    ++step_;
    config_.update.step(context_, model_.params(), static_cast<std::uint64_t>(step_),
                        config_.rate.at(static_cast<double>(step_)));
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }
  /// Returns the score over all test samples. Stops early if `keep_going()` returns false.
  template <class KeepGoing>
  score test(KeepGoing const& keep_going) {
    allocate();
    score total;
    for (index_t first = 0; keep_going(); first += config_.batch) {
      batch<float> const input = batches_.test_batch(threads_, first);
      if (input.size == 0) break;
      total.add(run(input, false));
    }
    return total;
  }
  /// Returns the first batch of test samples.
  batch<float> first_test_batch() { return batches_.test_batch(threads_, 0); }
  /// Runs forward without training. An observer sees each micro-batch.
  void forward(batch<float> const& input) {
    allocate();
    run(input, false);
  }

 private:
  void allocate() {
    if (memory_.is_counting()) memory_.allocate();
  }
  index_t micro_batch() const {
    return config_.micro_batch == 0 ? config_.batch : std::min(config_.micro_batch, config_.batch);
  }
  // Runs all samples, a micro-batch at a time.
  score run(batch<float> const& input, bool training) {
    context_.training = training;
    score total;
    for (index_t first = 0; first < input.size; first += micro_batch(), ++context_.pass)
      total.add(run_micro_batch(input.slice(first, std::min(micro_batch(), input.size - first)),
                                input.size));
    return total;
  }
  // Runs forward, the loss and, in training, backward.
  score run_micro_batch(batch<float> const& input, index_t samples) {
    memory_.clear();
    index_t const outputs = input.shape.outputs;
    matrix<float> const y(context_.keep(input.size * outputs), input.size, outputs);
    matrix<float> const dy(context_.keep(input.size * outputs), input.size, outputs);
    model_.forward(context_, input, y);
    score result;
    context_.compute([&] { result = loss<float>(input, y, dy, samples); });
    if (context_.training) model_.backward(context_, input, dy);
    return result;
  }

  model<float>& model_;
  training_config config_;
  thread_pool threads_;
  memory memory_;
  batch_loader batches_;
  context<float> context_;
  index_t step_ = 0;
  double seconds_ = 0;
};

}  // namespace learning
