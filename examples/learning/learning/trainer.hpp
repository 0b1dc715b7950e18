// SPDX-License-Identifier: Apache-2.0
// Training: steps of a model on a task's samples, and tests between them.
#pragma once

#include "learning/encoder.hpp"
#include "learning/gemm.hpp"
#include "learning/loss.hpp"
#include "learning/optimizer.hpp"
#include "learning/samples.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace learning {

struct training_rules {
  index_t batch = 32, steps = 1000;
  schedule rate{};
  adam update{};
  std::uint64_t seed = 0;  ///< of dropout and of the order of samples
  unsigned threads = 1;    ///< no number of them changes a bit
};

/// Trains a model. Everything that a step needs is allocated here; steps allocate nothing.
class trainer {
 public:
  trainer(model<float>& m, task const& t, training_rules const& rules)
      : model_(m),
        rules_(rules),
        threads_(rules.threads),
        samples_(t, rules.batch, rules.seed),
        call_{threads_, memory_} {
    use_one_thread_a_product();
    call_.seed = rules.seed;
    batch<float> const whole = samples_.whole();
    run(whole, true);  // these count
    run(whole, false);
  }

  /// Steps done, and seconds that they took, by this trainer and those that it goes on from.
  index_t step() const { return step_; }
  double seconds() const { return seconds_; }
  void resume(index_t step, double seconds) { step_ = step, seconds_ = seconds; }

  index_t steps() const { return rules_.steps; }
  /// Bytes of a step's memory, and of the parameters with their gradients and moments.
  std::size_t step_bytes() const { return memory_.bytes(); }
  std::size_t parameter_bytes() {
    return static_cast<std::size_t>(model_.learned().size()) * 4 * sizeof(float);
  }

  /// One step. Returns what the batch scored before it.
  score train() {
    auto const start = std::chrono::steady_clock::now();
    allocate();
    batch<float> const in = samples_.training(threads_, step_);
    call_.step = static_cast<std::uint64_t>(step_);
    score const result = run(in, true);
    ++step_;
    rules_.update.step(call_, model_.learned(), static_cast<std::uint64_t>(step_),
                       rules_.rate.at(static_cast<double>(step_)));
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }
  /// The score of all test samples, batch by batch. Stops early where `go_on()` is false.
  template <class GoOn>
  score test(GoOn const& go_on) {
    allocate();
    score all;
    for (index_t first = 0; go_on(); first += rules_.batch) {
      batch<float> const in = samples_.test(threads_, first);
      if (in.size == 0) break;
      all.add(run(in, false));
    }
    return all;
  }

 private:
  void allocate() {
    if (memory_.counting()) memory_.allocate();
  }
  // Forward, the loss and, in training, backward.
  score run(batch<float> const& in, bool training) {
    memory_.clear();
    call_.training = training;
    index_t const outputs = in.shape.outputs;
    matrix<float> const y(call_.keep(in.size * outputs), in.size, outputs);
    matrix<float> const dy(call_.keep(in.size * outputs), in.size, outputs);
    model_.forward(call_, in, y);
    score result;
    call_.work([&] { result = loss<float>(in, y, dy); });
    if (training) model_.backward(call_, in, dy);
    return result;
  }

  model<float>& model_;
  training_rules rules_;
  thread_pool threads_;
  memory memory_;
  samples samples_;
  call<float> call_;
  index_t step_ = 0;
  double seconds_ = 0;
};

}  // namespace learning
