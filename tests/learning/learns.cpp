// SPDX-License-Identifier: Apache-2.0
// Models that must learn the adding problem, temporal order, and short ListOps better than from the
// first token; and one that cannot, since it shuffles rows. SLICESORT_FULL=1 uses the lengths of
// docs/learning; the default lengths are learned in a tenth of the time.
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "learning/tasks/baselines.hpp"
#include "learning/tasks/listops.hpp"
#include "learning/tasks/synthetic.hpp"
#include "learning/trainer.hpp"
#include "linked_operators.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace learning;

namespace {

bool full_suite() {
  char const* const value = std::getenv("SLICESORT_FULL");
  return value != nullptr && value[0] == '1';
}

double accuracy_after(trainer& run) {
  while (run.step() < run.steps()) run.train();
  return run.test([] { return true; }).accuracy();
}

// Paramixer's configuration for synthetic tasks: one block of width 32; the head reads all rows.
encoder_config paramixer_config(positions position_kind) {
  encoder_config config;
  config.width = 32, config.layers = 1, config.hidden = 32, config.position_kind = position_kind,
  config.pool_kind = pooling::flatten;
  config.rules.weights = initial::torch, config.rules.hidden = activation::gelu;
  config.rules.position_deviation = 1;
  return config;
}
training_config synthetic_config(index_t steps) {
  training_config training;
  training.batch = 40, training.steps = steps, training.threads = 2, training.seed = 1;
  training.update.clip = 1;
  return training;
}
synthetic_size size_with_length(index_t length) {
  synthetic_size size;
  size.length = length, size.test_samples = 1000;
  return size;
}

// Lists that two layers of width 32 learn in a minute, or in seconds.
listops short_lists() {
  listops::size_config size;
  size.shortest = full_suite() ? 20 : 10, size.longest = full_suite() ? 100 : 50;
  return listops(size);
}
// Uses a class token, and shuffles padding, as published.
template <class Mixer>
double short_lists_accuracy(index_t steps) {
  listops const task = short_lists();
  encoder_config config;
  config.width = 32, config.hidden = 64, config.rules.hidden = activation::gelu;
  config.pool_kind = pooling::cls, config.masks_padding = false;
  encoder<Mixer> model(task.shape(), config, {}, 1);
  training_config training;
  training.batch = 32, training.steps = steps, training.threads = 2, training.seed = 1;
  training.rate = {schedule::kind::linear, 2e-3, 200, static_cast<double>(steps)};
  trainer run(model, task, training);
  return accuracy_after(run);
}

}  // namespace

TEST_CASE("Paramixer learns to add") {
  adding const task(size_with_length(full_suite() ? 128 : 32));
  encoder<mixers::sparse_mix<>, bare> model(task.shape(), paramixer_config(positions::none), {}, 1);
  trainer run(model, task, synthetic_config(full_suite() ? 1500 : 800));
  double const accuracy = accuracy_after(run);
  MESSAGE("accuracy " << accuracy << " after " << run.seconds() << " s");
  CHECK(accuracy >= 0.95);  // a constant: 0.154
}
TEST_CASE("Paramixer learns temporal order") {
  temporal_order const task(size_with_length(full_suite() ? 128 : 32));
  encoder<mixers::sparse_mix<>, bare> model(task.shape(), paramixer_config(positions::learned), {},
                                            1);
  trainer run(model, task, synthetic_config(full_suite() ? 1000 : 800));
  double const accuracy = accuracy_after(run);
  MESSAGE("accuracy " << accuracy << " after " << run.seconds() << " s");
  CHECK(accuracy >= 0.95);  // at random: 0.25
}
TEST_CASE(
    "short ListOps: sorting beats the baseline of the first token, shuffling learns nothing") {
  auto const baselines = measure_baselines(short_lists(), 20000, 2000);
  double const majority = baselines[0], first_token = baselines[1];
  double const sorted = short_lists_accuracy<mixers::sorting<>>(full_suite() ? 2000 : 600);
  // The class token depends on two other rows, one per layer, regardless of their values.
  double const shuffled =
      short_lists_accuracy<mixers::shuffle<ss::shared_by_channels>>(full_suite() ? 600 : 300);
  MESSAGE("first token " << first_token << ", sorted " << sorted);
  MESSAGE("majority " << majority << ", shuffled " << shuffled);
  // One standard error of 2,000 samples is 0.011.
  CHECK(sorted > first_token + 0.03);
  CHECK(shuffled < majority + 0.03);
}
