// SPDX-License-Identifier: Apache-2.0
// Samples and rows that a model uses: every sample once per epoch, every valid row, and no padding.
#include "learning/mixers/attention.hpp"
#include "learning/mixers/csp.hpp"
#include "learning/mixers/none.hpp"
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "learning/samples.hpp"
#include "trial.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

using namespace learning_tests;

namespace {

// Samples that contain their number.
class numbered final : public task {
 public:
  sample_shape shape() const override { return {1, 0, 1000, 2, 0}; }
  index_t size(split subset) const override { return subset == split::test ? 7 : 10; }
  void write(split subset, index_t number, sample& result) const override {
    result.tokens[0] = static_cast<std::int32_t>(number + (subset == split::test ? 100 : 0));
    result.length = 1;
  }
};

template <class Mixer>
std::vector<double> outputs(generated_batch<double> const& samples, encoder_config const& config) {
  encoder<Mixer> m(samples.shape, config, {}, 1);
  trial<double> run(m, samples.view());
  run.forward(false);
  return run.outputs();
}

template <class Mixer>
void check_padding(pooling pooled) {
  CAPTURE(static_cast<int>(pooled));
  encoder_config config = small_encoder();
  config.pooled = pooled;
  generated_batch<double> samples(small_tokens());
  auto const length = static_cast<std::size_t>(samples.shape.length);
  std::vector<double> const before = outputs<Mixer>(samples, config);
  std::size_t const outputs_per_sample = before.size() / samples.labels.size();

  for (std::size_t b = 0; b < samples.labels.size(); ++b)  // other padding
    for (auto n = static_cast<std::size_t>(samples.lengths[b]); n < length; ++n)
      samples.tokens[b * length + n] = 3;
  CHECK(outputs<Mixer>(samples, config) == before);

  // Changes the last valid row; with max pooling it may have no effect.
  for (std::size_t b = 0; pooled != pooling::max && b < samples.labels.size(); ++b) {
    generated_batch<double> changed = samples;
    std::int32_t& last =
        changed.tokens[b * length + static_cast<std::size_t>(samples.lengths[b]) - 1];
    last = last == 4 ? 1 : 4;
    std::vector<double> const after = outputs<Mixer>(changed, config);
    for (std::size_t i = 0; i < before.size(); ++i)
      CHECK((after[i] == before[i]) == (i / outputs_per_sample != b));
  }
}

// Checks that the values of padding rows, which no layer writes, affect neither outputs nor
// gradients.
template <class Mixer, class Block>
void check_undefined_padding(pooling pooled) {
  encoder_config config = small_encoder();
  config.pooled = pooled;
  generated_batch<double> const samples(small_tokens());
  encoder<Mixer, Block> m(samples.shape, config, {}, 1);
  trial<double> run(m, samples.view());
  std::vector<double> results[2];
  for (double const rest : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    run.stack().clear();
    auto const count = static_cast<index_t>(run.stack().bytes() / sizeof(double));
    std::fill_n(run.stack().keep<double>(count), count, rest);
    run.gradients();
    std::vector<double>& result = results[rest == 0 ? 0 : 1];
    result = m.params().gradients();
    result.insert(result.end(), run.outputs().begin(), run.outputs().end());
  }
  CHECK(results[0] == results[1]);  // fails for NaN
}

template <class Mixer>
void check_all_poolings() {
  for (pooling const pooled : {pooling::cls, pooling::mean, pooling::max}) {
    check_padding<Mixer>(pooled);
    check_undefined_padding<Mixer, pre_norm>(pooled);
    check_undefined_padding<Mixer, post_norm>(pooled);
    check_undefined_padding<Mixer, bare>(pooled);
  }
  check_undefined_padding<Mixer, pre_norm>(pooling::flatten);
}

}  // namespace

TEST_CASE("an epoch takes every sample once, in a new order") {
  thread_pool threads(2);
  numbered const task;
  samples result(task, 5, 3);
  REQUIRE(result.batches() == 2);
  std::vector<std::vector<std::int32_t>> epochs;
  for (index_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int32_t> results;
    for (index_t i = 0; i < 2; ++i) {
      batch<float> const b = result.training(threads, 2 * epoch + i);
      results.insert(results.end(), b.tokens, b.tokens + b.size);
    }
    CHECK(std::set<std::int32_t>(results.begin(), results.end()).size() == 10);
    CHECK(*std::max_element(results.begin(), results.end()) == 9);
    epochs.push_back(results);
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
  // Resumes in the third epoch.
  samples resumed(task, 5, 3);
  batch<float> const b = resumed.training(threads, 4);
  CHECK(std::equal(b.tokens, b.tokens + 5, epochs[2].begin()));
}
TEST_CASE("a test takes all samples in order, and an epoch omits an incomplete batch") {
  thread_pool threads(1);
  numbered const task;
  samples result(task, 4, 1);
  CHECK(result.batches() == 2);
  std::vector<std::int32_t> results;
  for (index_t first = 0;; first += 4) {
    batch<float> const b = result.test(threads, first);
    if (b.size == 0) break;
    results.insert(results.end(), b.tokens, b.tokens + b.size);
  }
  std::vector<std::int32_t> expected(7);
  std::iota(expected.begin(), expected.end(), 100);
  CHECK(results == expected);
  CHECK_THROWS_WITH_AS(samples(task, 11, 1),
                       "a batch has more samples than there are to learn from", task_error);
}
TEST_CASE("padding has no effect, the last valid row has") {
  check_all_poolings<mixers::sorting<ss::ascending, double>>();
  check_all_poolings<mixers::csp<ss::shift::linear, ss::ascending, double>>();
  check_all_poolings<mixers::attention<ss::mask::full, double>>();
  check_all_poolings<mixers::sparse_mix<ss::topology::chord, double>>();
  check_all_poolings<mixers::sparse_mix<ss::topology::cdil, double>>();
  check_undefined_padding<mixers::none<double>, pre_norm>(pooling::mean);
}
