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

double accuracy_after(trainer& t) {
  while (t.step() < t.steps()) t.train();
  return t.test([] { return true; }).accuracy();
}

// Paramixer's configuration for synthetic tasks: one block of width 32; the head reads all rows.
encoder_config paramixer(positions config) {
  encoder_config e;
  e.width = 32, e.layers = 1, e.hidden = 32, e.position_kind = config, e.pooled = pooling::flatten;
  e.rules.weights = initial::torch, e.rules.hidden = activation::gelu;
  e.rules.position_deviation = 1;
  return e;
}
training_config synthetic(index_t steps) {
  training_config r;
  r.batch = 40, r.steps = steps, r.threads = 2, r.seed = 1;
  r.update.clip = 1;
  return r;
}
synthetic_size rows(index_t length) {
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
  encoder_config e;
  e.width = 32, e.hidden = 64, e.rules.hidden = activation::gelu;
  e.pooled = pooling::cls, e.masks_padding = false;
  encoder<Mixer> m(task.shape(), e, {}, 1);
  training_config r;
  r.batch = 32, r.steps = steps, r.threads = 2, r.seed = 1;
  r.rate = {schedule::form::linear, 2e-3, 200, static_cast<double>(steps)};
  trainer t(m, task, r);
  return accuracy_after(t);
}

}  // namespace

TEST_CASE("Paramixer learns to add") {
  adding const task(rows(full_suite() ? 128 : 32));
  encoder<mixers::sparse_mix<>, bare> m(task.shape(), paramixer(positions::none), {}, 1);
  trainer t(m, task, synthetic(full_suite() ? 1500 : 800));
  double const accuracy = accuracy_after(t);
  MESSAGE("accuracy " << accuracy << " after " << t.seconds() << " s");
  CHECK(accuracy >= 0.95);  // a constant: 0.154
}
TEST_CASE("Paramixer learns temporal order") {
  temporal_order const task(rows(full_suite() ? 128 : 32));
  encoder<mixers::sparse_mix<>, bare> m(task.shape(), paramixer(positions::learned), {}, 1);
  trainer t(m, task, synthetic(full_suite() ? 1000 : 800));
  double const accuracy = accuracy_after(t);
  MESSAGE("accuracy " << accuracy << " after " << t.seconds() << " s");
  CHECK(accuracy >= 0.95);  // at random: 0.25
}
TEST_CASE(
    "short ListOps: sorting beats the baseline of the first token, shuffling learns nothing") {
  double const first_token = baseline_accuracy(short_lists(), baseline_classifiers[1], 20000, 2000);
  double const majority = baseline_accuracy(short_lists(), baseline_classifiers[0], 20000, 2000);
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
