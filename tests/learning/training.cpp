// SPDX-License-Identifier: Apache-2.0
// Training runs: the same bits for any number of threads and after a resumption, no allocation, and
// memory that is known in advance.
#include "learning/checkpoint.hpp"
#include "learning/mixers/attention.hpp"
#include "learning/mixers/csp.hpp"
#include "learning/mixers/none.hpp"
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "learning/probe.hpp"
#include "learning/tasks/synthetic.hpp"
#include "learning/trainer.hpp"
#include "linked_operators.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

namespace {

std::atomic<long> allocations{0};

}  // namespace

// Counts the allocations of this program.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace learning;
using model_maker = std::function<std::unique_ptr<model<float>>(sample_shape)>;

template <class Mixer, class Block = pre_norm>
model_maker mixer_maker(typename Mixer::config mixer = {}) {
  return [mixer](sample_shape input) {
    encoder_config config;
    config.width = 16, config.hidden = 24, config.rules.dropout = 0.1;
    return std::make_unique<encoder<Mixer, Block>>(input, config, mixer, 5);
  };
}

std::vector<std::pair<std::string, model_maker>> every_mixer() {
  mixers::attention<>::config attention_config;
  attention_config.heads = 2, attention_config.core.dropout = 0.1;
  return {{"sorting", mixer_maker<mixers::sorting<>>()},
          {"csp", mixer_maker<mixers::csp<>>()},
          {"attention", mixer_maker<mixers::attention<>>(attention_config)},
          {"chord", mixer_maker<mixers::sparse_mix<>, bare>()},
          {"none", mixer_maker<mixers::none<>, post_norm>()}};
}

training_config config(unsigned threads) {
  training_config result;
  result.batch = 24, result.steps = 3, result.threads = threads, result.seed = 9;
  result.update.clip = 1, result.update.decay = 0.1;
  return result;
}

// Samples that are all equal.
class equal_samples final : public task {
 public:
  sample_shape shape() const override { return {5, 0, 2, 2, 0}; }
  index_t size(split) const override { return 100; }
  void write(split, index_t, sample& result) const override {
    std::fill_n(result.tokens, 5, 1);
    result.length = 5;
  }
};

constexpr index_t length = 100;       // 24 * 100 rows: three tiles
constexpr index_t test_samples = 50;  // not a multiple of 24

// The losses of several steps, and the parameters after them.
struct outcome {
  std::vector<double> losses;
  std::vector<float> parameters;
};
outcome train(model_maker const& make_model, unsigned threads, index_t micro_batch = 0) {
  noise const samples({length, 1, 10000, test_samples});
  auto const m = make_model(samples.shape());
  training_config with_micro_batch = config(threads);
  with_micro_batch.micro_batch = micro_batch;
  trainer t(*m, samples, with_micro_batch);
  outcome result;
  for (int i = 0; i < 3; ++i) result.losses.push_back(t.train().loss);
  result.losses.push_back(t.test([] { return true; }).loss);
  result.parameters = m->params().values();
  return result;
}

}  // namespace

TEST_CASE("the same bits for any number of threads") {
  for (auto const& mixer : every_mixer()) {
    auto const& make_model = mixer.second;
    CAPTURE(std::string(mixer.first));
    outcome const serial = train(make_model, 1);
    CHECK(serial.losses.front() != serial.losses[1]);
    for (unsigned threads : {2u, 3u}) {
      if (SLICESORT_TEST_TSAN && threads == 2) continue;
      outcome const parallel = train(make_model, threads);
      CHECK(parallel.losses == serial.losses);
      CHECK(parallel.parameters == serial.parameters);
    }
  }
}

TEST_CASE("micro-batches add up to the batch's gradients" * doctest::skip(SLICESORT_TEST_TSAN)) {
  auto const micro_batches = [](task const& samples, double dropout_rate, index_t micro_batch) {
    encoder_config shape;
    shape.width = 16, shape.hidden = 24, shape.rules.dropout = dropout_rate;
    encoder<mixers::sorting<>> model(samples.shape(), shape, {}, 5);
    training_config training = config(1);
    training.micro_batch = micro_batch;
    trainer t(model, samples, training);
    std::vector<double> losses;
    for (int i = 0; i < 3; ++i) losses.push_back(t.train().mean_loss());
    losses.push_back(t.test([] { return true; }).mean_loss());
    losses.push_back(static_cast<double>(t.step_bytes()));
    return losses;
  };
  noise const tokens({length, 1, 10000, test_samples});
  adding const features({length, 1, 10000, test_samples});
  for (task const* samples :
       {static_cast<task const*>(&tokens), static_cast<task const*>(&features)}) {
    auto const whole = micro_batches(*samples, 0, 0);
    CHECK(micro_batches(*samples, 0, 24) == whole);
    CHECK(micro_batches(*samples, 0, 1000) == whole);
    for (index_t const size : {1, 5, 12}) {  // 5: the last of a batch, and of the test, is smaller
      auto const parts = micro_batches(*samples, 0, size);
      CAPTURE(size);
      for (std::size_t i = 0; i < 4; ++i)
        CHECK(parts[i] == doctest::Approx(whole[i]).epsilon(1e-4));
      CHECK(parts[4] < whole[4] * static_cast<double>(size + 1) / 24 + 1e5);
    }
  }
}

TEST_CASE("every micro-batch has dropout of its own" * doctest::skip(SLICESORT_TEST_TSAN)) {
  equal_samples const samples;
  encoder_config shape;
  shape.width = 16, shape.rules.dropout = 0.5;
  encoder<mixers::none<>> model(samples.shape(), shape, {}, 5);
  training_config training = config(1);
  training.micro_batch = 8;
  trainer t(model, samples, training);
  std::size_t observed = 0;
  std::set<std::vector<float>> distinct;
  model.set_observer([&](tensor3<float const> x) {
    ++observed;
    distinct.insert(std::vector<float>(x.data(), x.data() + x.extents().size()));
  });
  for (int i = 0; i < 2; ++i) t.train();
  CHECK(observed == 2 * 3 * 3);  // steps, micro-batches, and rows between and around two layers
  CHECK(distinct.size() == observed);
}

// ThreadSanitizer has seen the same steps on several threads above.
TEST_CASE("the same bits after a resumption from a checkpoint" *
          doctest::skip(SLICESORT_TEST_TSAN)) {
  std::string const path = "learning_training_resumed.safetensors";
  for (auto const& mixer : every_mixer()) {
    auto const& make_model = mixer.second;
    CAPTURE(std::string(mixer.first));
    noise const samples({length, 1, 10000, test_samples});
    outcome const whole = train(make_model, 1);
    {
      auto const first = make_model(samples.shape());
      trainer t(*first, samples, config(1));
      for (int i = 0; i < 2; ++i) t.train();
      save_checkpoint(path, first->params(), {{"step", "2"}});
    }
    auto const second = make_model(samples.shape());
    // Loading must replace all initial values.
    for (float& value : second->params().values()) value += 1;
    trainer t(*second, samples, config(2));
    CHECK(load_checkpoint(path, second->params()).at("step") == "2");
    t.resume(2, 0);
    std::vector<double> losses(whole.losses.begin(), whole.losses.begin() + 2);
    losses.push_back(t.train().loss);
    losses.push_back(t.test([] { return true; }).loss);
    CHECK(losses == whole.losses);
    CHECK(second->params().values() == whole.parameters);
  }
  std::remove(path.c_str());
}

TEST_CASE("steps allocate nothing, and their memory is known in advance" *
          doctest::skip(SLICESORT_TEST_TSAN)) {
  for (auto const& mixer : every_mixer()) {
    auto const& make_model = mixer.second;
    CAPTURE(std::string(mixer.first));
    noise const samples({length, 1, 10000, test_samples});
    auto const m = make_model(samples.shape());
    trainer t(*m, samples, config(2));
    std::size_t const counted = t.step_bytes();
    CHECK(counted > 0);
    // A thread allocates scratch memory when it takes its first product, which may be late on a
    // busy machine.
    bool has_allocated = true;
    for (int round = 0; has_allocated && round < 20; ++round) {
      long const before = allocations;
      for (int i = 0; i < 3; ++i) t.train();
      t.test([] { return true; });
      has_allocated = allocations != before;
    }
    CHECK_FALSE(has_allocated);
    CHECK(t.step_bytes() == counted);
  }
}

TEST_CASE("a test does not change the model, and accepts an incomplete batch") {
  noise const samples({length, 1, 10000, test_samples});
  auto const m = mixer_maker<mixers::sorting<>>()(samples.shape());
  trainer t(*m, samples, config(1));
  t.train();
  std::vector<float> const before = m->params().values();
  score const result = t.test([] { return true; });
  CHECK(result.samples == samples.size(split::test));
  CHECK(m->params().values() == before);
  CHECK(t.test([] { return true; }).loss == result.loss);
  int batches = 0;
  CHECK(t.test([&] { return batches++ < 2; }).samples == 48);
}
TEST_CASE("a probe saves the rows between layers, and those of shuffled samples") {
  noise const samples({length, 1, 100, 30});
  encoder_config shape;
  shape.width = 16, shape.hidden = 24, shape.layers = 2, shape.pool_kind = pooling::cls;
  shape.position_kind = positions::none;
  encoder<mixers::none<>, post_norm> model(samples.shape(), shape, {}, 5);
  trainer run(model, samples, config(1));
  char const* const path = "learning_training_probe.safetensors";
  probe(model, run, 3).save(path);
  std::string const bytes = read_file(path);
  std::remove(path);
  std::map<std::string, stored_tensor> found;
  for (stored_tensor const& tensor : read_tensors(bytes).tensors) found[tensor.name] = tensor;
  CHECK(found.size() == 10);  // three of rows and of shuffled, labels, lengths, tokens, order
  auto const value = [&](std::string const& name, index_t i) {
    return static_cast<float const*>(found.at(name).data)[i];
  };
  REQUIRE(found.at("order").shape == std::vector<index_t>{24, length});
  bool is_shuffled = false;
  for (std::string const layer : {"0", "1", "2"}) {
    REQUIRE(found.at("rows." + layer).shape == std::vector<index_t>{24, length + 1, 16});
    for (index_t b = 0; b < 24; ++b)
      for (index_t n = 0; n <= length; ++n) {  // row 0 is the class token
        index_t const source =
            n == 0 ? 0 : 1 + static_cast<index_t>(value("order", b * length + n - 1));
        is_shuffled = is_shuffled || source != n;
        for (index_t i = 0; i < 16; ++i)  // without mixing and positions, rows move as they are
          REQUIRE(value("shuffled." + layer, (b * (length + 1) + n) * 16 + i) ==
                  value("rows." + layer, (b * (length + 1) + source) * 16 + i));
      }
  }
  CHECK(is_shuffled);
}
