// SPDX-License-Identifier: Apache-2.0
// Models that must learn: the adding problem, temporal order, and short ListOps past what its first
// token tells; and one that cannot, since it shuffles rows. SLICESORT_FULL=1 asks for the sequences
// of docs/learning; the fast suite has shorter ones, which are learned in a tenth of the time.
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "learning/tasks/listops.hpp"
#include "learning/tasks/readers.hpp"
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

// Paramixer's synthetic configuration: one block, 32 wide, all rows to the head.
encoder_config paramixer(positions with) {
  encoder_config e;
  e.width = 32, e.layers = 1, e.hidden = 32, e.with = with, e.pooled = pooling::flatten;
  e.rules.weights = initial::torch, e.rules.hidden = activation::gelu;
  e.rules.position_deviation = 1;
  return e;
}
training_rules synthetic(index_t steps) {
  training_rules r;
  r.batch = 40, r.steps = steps, r.threads = 2, r.seed = 1;
  r.update.clip = 1;
  return r;
}
synthetic_size rows(index_t length) {
  synthetic_size size;
  size.length = length, size.test_samples = 1000;
  return size;
}

// Lists short enough that two layers, 32 wide, learn something of them in a minute, or in seconds.
listops short_lists() {
  listops::size_of size;
  size.shortest = full_suite() ? 20 : 10, size.longest = full_suite() ? 100 : 50;
  return listops(size);
}
// With a class token that padding is shuffled with, as published.
template <class Mixer>
double short_lists_accuracy(index_t steps) {
  listops const task = short_lists();
  encoder_config e;
  e.width = 32, e.hidden = 64, e.rules.hidden = activation::gelu;
  e.pooled = pooling::cls, e.masks_padding = false;
  encoder<Mixer> m(task.shape(), e, {}, 1);
  training_rules r;
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
TEST_CASE("short ListOps: sorting passes the reader of the first token, shuffling learns nothing") {
  double const reader = reader_accuracy(short_lists(), trivial_readers[1], 20000, 2000);
  double const majority = reader_accuracy(short_lists(), trivial_readers[0], 20000, 2000);
  double const sorted = short_lists_accuracy<mixers::sorting<>>(full_suite() ? 2000 : 600);
  // The class token sees two other rows, one for each layer, whatever they say.
  double const shuffled =
      short_lists_accuracy<mixers::shuffle<ss::shared_by_channels>>(full_suite() ? 600 : 300);
  MESSAGE("first token " << reader << ", sorted " << sorted);
  MESSAGE("majority " << majority << ", shuffled " << shuffled);
  // One standard error of 2,000 samples is 0.011.
  CHECK(sorted > reader + 0.03);
  CHECK(shuffled < majority + 0.03);
}
