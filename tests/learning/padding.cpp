// SPDX-License-Identifier: Apache-2.0
// Samples and rows that a model uses: every sample once per epoch, every valid row, and no padding.
#include "learning/mixers/any_mixer.hpp"
#include "learning/mixers/attention.hpp"
#include "learning/mixers/csp.hpp"
#include "learning/mixers/none.hpp"
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "learning/samples.hpp"
#include "trial.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

using namespace learning_tests;

namespace {

using any_mixer = mixers::any_mixer<double>;  // one encoder for all mixers compiles faster

// Sample i is the single token i, or 100 + i in the test split.
class index_task final : public task {
 public:
  sample_shape shape() const override { return {1, 0, 1000, 2, 0}; }
  index_t size(split subset) const override { return subset == split::test ? 7 : 10; }
  void write(split subset, index_t index, sample& result) const override {
    result.tokens[0] = static_cast<std::int32_t>(index + (subset == split::test ? 100 : 0));
    result.length = 1;
  }
};

template <class Mixer>
std::vector<double> compute_outputs(generated_batch<double> const& samples,
                                    encoder_config const& config) {
  encoder<any_mixer> m(samples.shape, config, any_mixer::holding<Mixer>({}), 1);
  model_runner<double> runner(m, samples.view());
  runner.compute_loss(false);
  return runner.outputs();
}

template <class Mixer>
void check_padding(pooling pool_kind) {
  CAPTURE(static_cast<int>(pool_kind));
  encoder_config config = small_encoder();
  config.pool_kind = pool_kind;
  generated_batch<double> samples(small_tokens());
  auto const length = static_cast<std::size_t>(samples.shape.length);
  std::vector<double> const before = compute_outputs<Mixer>(samples, config);
  std::size_t const outputs_per_sample = before.size() / samples.labels.size();

  for (std::size_t b = 0; b < samples.labels.size(); ++b)  // overwrites the padding
    for (auto n = static_cast<std::size_t>(samples.lengths[b]); n < length; ++n)
      samples.tokens[b * length + n] = 3;
  CHECK(compute_outputs<Mixer>(samples, config) == before);

  // Changes the last valid row; with max pooling it may have no effect.
  for (std::size_t b = 0; pool_kind != pooling::max && b < samples.labels.size(); ++b) {
    generated_batch<double> changed = samples;
    std::int32_t& last =
        changed.tokens[b * length + static_cast<std::size_t>(samples.lengths[b]) - 1];
    last = last == 4 ? 1 : 4;
    std::vector<double> const after = compute_outputs<Mixer>(changed, config);
    for (std::size_t i = 0; i < before.size(); ++i)
      CHECK((after[i] == before[i]) == (i / outputs_per_sample != b));
  }
}

template <class Mixer, class Block>
void check_undefined_padding(pooling pool_kind) {
  encoder_config config = small_encoder();
  config.pool_kind = pool_kind;
  generated_batch<double> const samples(small_tokens());
  encoder<any_mixer, Block> m(samples.shape, config, any_mixer::holding<Mixer>({}), 1);
  check_undefined_memory(m, samples.view());
}

template <class Mixer>
void check_all_poolings() {
  for (pooling const pool_kind : {pooling::cls, pooling::mean, pooling::max}) {
    check_padding<Mixer>(pool_kind);
    check_undefined_padding<Mixer, pre_norm>(pool_kind);
    check_undefined_padding<Mixer, post_norm>(pool_kind);
    check_undefined_padding<Mixer, bare>(pool_kind);
  }
  check_undefined_padding<Mixer, pre_norm>(pooling::flatten);
}

}  // namespace

TEST_CASE("an epoch takes every sample once, in a new order") {
  thread_pool threads(2);
  index_task const task;
  batch_loader loader(task, 5, 3);
  REQUIRE(loader.batches_per_epoch() == 2);
  std::vector<std::vector<std::int32_t>> epochs;
  for (index_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int32_t> tokens;
    for (index_t i = 0; i < 2; ++i) {
      batch<float> const b = loader.training_batch(threads, 2 * epoch + i);
      tokens.insert(tokens.end(), b.tokens, b.tokens + b.size);
    }
    CHECK(std::set<std::int32_t>(tokens.begin(), tokens.end()).size() == 10);
    CHECK(*std::max_element(tokens.begin(), tokens.end()) == 9);
    epochs.push_back(tokens);
  }
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
  // A new loader that starts in the third epoch yields the same batch.
  batch_loader resumed(task, 5, 3);
  batch<float> const b = resumed.training_batch(threads, 4);
  CHECK(std::equal(b.tokens, b.tokens + 5, epochs[2].begin()));
}
TEST_CASE("a test visits all samples in order, and an epoch drops an incomplete batch") {
  thread_pool threads(1);
  index_task const task;
  batch_loader loader(task, 4, 1);
  CHECK(loader.batches_per_epoch() == 2);
  std::vector<std::int32_t> tokens;
  for (index_t first = 0;; first += 4) {
    batch<float> const b = loader.test_batch(threads, first);
    if (b.size == 0) break;
    tokens.insert(tokens.end(), b.tokens, b.tokens + b.size);
  }
  std::vector<std::int32_t> expected(7);
  std::iota(expected.begin(), expected.end(), 100);
  CHECK(tokens == expected);
  CHECK_THROWS_WITH_AS(batch_loader(task, 11, 1),
                       "a batch has more samples than there are to learn from", task_error);
}
TEST_CASE("padding has no effect, but the last valid row does") {
  check_all_poolings<mixers::sorting<ss::ascending, double>>();
  check_all_poolings<mixers::csp<ss::shift::linear, ss::ascending, double>>();
  check_all_poolings<mixers::attention<ss::mask::full, double>>();
  check_all_poolings<mixers::sparse_mix<ss::topology::chord, double>>();
  check_all_poolings<mixers::sparse_mix<ss::topology::cdil, double>>();
  check_undefined_padding<mixers::none<double>, pre_norm>(pooling::mean);
}
