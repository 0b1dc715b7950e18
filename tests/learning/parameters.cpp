// SPDX-License-Identifier: Apache-2.0
// Parameter counts compared with the exact counts of the papers, and initial values.
#include "learning/encoder.hpp"
#include "learning/mixers/attention.hpp"
#include "learning/mixers/none.hpp"
#include "learning/mixers/sorting.hpp"
#include "linked_operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace learning;

namespace {

// A vision transformer or Sliceformer: patches through a linear layer, a class token, learned
// positions.
struct vision_model {
  index_t patches, features, width, inner, hidden, classes;

  sample_shape input() const { return {patches, features, 0, classes, 0}; }
  encoder_config shape(index_t layers) const {
    encoder_config config;
    config.width = width, config.layers = layers, config.hidden = hidden;
    config.pool_kind = pooling::cls;
    return config;
  }
};

template <class Mixer>
index_t count_parameters(vision_model const& vision, index_t layers, bias inputs) {
  typename Mixer::config mixer;
  mixer.inner = vision.inner, mixer.out = bias::learned;
  if constexpr (std::is_same_v<Mixer, mixers::attention<>>)
    mixer.inputs = inputs;
  else
    mixer.values = inputs;
  encoder<Mixer> m(vision.input(), vision.shape(layers), mixer);
  return m.params().size();
}

std::vector<float> values_of(model<float>& m, std::string const& name) {
  for (auto const& entry : m.params().entries())
    if (entry.name == name) {
      auto const first = m.params().values().begin() + entry.offset;
      return {first, first + entry.size};
    }
  return {};
}

encoder_config two_layers(initial first) {
  encoder_config config;
  config.rules.weights = first;
  return config;
}

}  // namespace

TEST_CASE("the parameter counts that Sliceformer reports, for itself and the Transformer") {
  struct row {
    char const* task;
    vision_model vision;
    index_t transformer, sliceformer;
  };
  for (row const& r : {row{"CIFAR-10", {256, 12, 512, 512, 512, 10}, 9603594, 6457866},
                       row{"CIFAR-10, patch 4", {64, 48, 512, 512, 512, 10}, 9523722, 6377994},
                       row{"CIFAR-100", {256, 12, 512, 512, 512, 100}, 9649764, 6504036},
                       row{"Dogs vs Cats", {196, 768, 128, 512, 128, 2}, 1899138, 1112706}}) {
    CAPTURE(std::string(r.task));
    CHECK(count_parameters<mixers::attention<>>(r.vision, 6, bias::none) == r.transformer);
    CHECK(count_parameters<mixers::sorting<>>(r.vision, 6, bias::none) == r.sliceformer);
  }
}
TEST_CASE("the parameters that Sliceformer saves in models of other papers") {
  auto const saved = [](index_t layers, index_t width) {
    vision_model const vision{4, 3, width, width, 2 * width, 10};
    return count_parameters<mixers::attention<>>(vision, layers, bias::learned) -
           count_parameters<mixers::sorting<>>(vision, layers, bias::learned);
  };
  CHECK(saved(12, 384) == 3548160);   // Tiny-ImageNet, 22.05M - 18.50M
  CHECK(saved(12, 768) == 14174208);  // Graphormer, 47.09M - 32.91M
  CHECK(saved(6, 256) == 789504);     // IMDB, 8.84M - 8.05M
}

TEST_CASE("initial values: xavier_uniform, torch's, normal") {
  sample_shape const tokens{5, 0, 7, 3, 0};
  for (initial const scheme : {initial::xavier, initial::torch, initial::normal}) {
    encoder<mixers::none<>> m(tokens, two_layers(scheme), {}, 3);
    std::vector<float> const weight = values_of(m, "layers.0.mlp.0.weight");  // [128, 64]
    std::vector<float> const bias_values = values_of(m, "layers.0.mlp.0.bias");
    REQUIRE(weight.size() == 128 * 64);
    double sum = 0, squares = 0, largest = 0;
    for (float const w : weight) {
      sum += static_cast<double>(w), squares += static_cast<double>(w) * static_cast<double>(w);
      largest = std::max(largest, std::fabs(static_cast<double>(w)));
    }
    double const deviation = std::sqrt(squares / 8192), mean = sum / 8192;
    double const bound =
        scheme == initial::xavier ? std::sqrt(6.0 / (64 + 128)) : 1 / std::sqrt(64.0);
    double const expected = scheme == initial::normal ? 0.02 : bound / std::sqrt(3.0);
    // Four standard errors: sigma / sqrt(n) for a mean, below sigma / sqrt(2n) for a deviation.
    CHECK(std::fabs(mean) < 4 * expected / std::sqrt(8192.0));
    CHECK(std::fabs(deviation - expected) < 4 * expected / std::sqrt(2 * 8192.0));
    if (scheme != initial::normal) {
      CHECK(largest <= bound);
      CHECK(largest > 0.995 * bound);
    }
    bool const zeros =
        std::all_of(bias_values.begin(), bias_values.end(), [](float b) { return b == 0; });
    CHECK(zeros == (scheme != initial::torch));
    auto const norm_weight = values_of(m, "layers.1.norm2.weight");
    CHECK(std::all_of(norm_weight.begin(), norm_weight.end(), [](float g) { return g == 1; }));
  }
}
TEST_CASE("a parameter's initial values depend on its name and the seed alone") {
  sample_shape const tokens{5, 0, 7, 3, 0}, longer{9, 0, 12, 4, 0};
  encoder_config deeper = two_layers(initial::xavier);
  deeper.layers = 5;
  encoder<mixers::none<>> a(tokens, two_layers(initial::xavier), {}, 3);
  encoder<mixers::sorting<>> b(longer, deeper, {}, 3);
  encoder<mixers::none<>> c(tokens, two_layers(initial::xavier), {}, 4);
  for (char const* name : {"layers.0.mlp.0.weight", "layers.1.mlp.2.weight"}) {
    CHECK(values_of(a, name) == values_of(b, name));
    CHECK(values_of(a, name) != values_of(c, name));
  }
  CHECK(values_of(a, "layers.0.mlp.0.weight") != values_of(a, "layers.1.mlp.0.weight"));
}
