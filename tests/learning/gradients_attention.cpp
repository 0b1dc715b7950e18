// SPDX-License-Identifier: Apache-2.0
// Compares the gradients of models whose mixers have heads with central differences in double, and
// checks that they ignore the memory of padding.
#include "learning/mixers/any_mixer.hpp"
#include "learning/mixers/attention.hpp"
#include "learning/mixers/doubly_stochastic.hpp"
#include "learning/mixers/linear_attention.hpp"
#include "learning/mixers/low_rank.hpp"
#include "learning/mixers/reformer.hpp"
#include "learning/mixers/synthesizer.hpp"
#include "trial.hpp"

#include <doctest/doctest.h>

using namespace learning_tests;
namespace ss = slicesort;
namespace feature = slicesort::feature;

namespace {

// All mixers share an encoder.
template <class Mixer, class Block = pre_norm>
void check(typename Mixer::config const& mixer, encoder_config config = small_encoder()) {
  using any_mixer = mixers::any_mixer<double>;
  generated_batch<double> const samples(small_tokens());
  for (pooling const pooled : {pooling::mean, pooling::flatten}) {  // flatten also reads padding
    config.pool_kind = pooled;
    encoder<any_mixer, Block> model(small_tokens(), config, any_mixer::holding<Mixer>(mixer), 1);
    check_undefined_memory(model, samples.view());
    if (pooled == pooling::mean) check_gradients(model, samples.view());
  }
}
// Checks a mixer with two heads of 4 channels, in one layer, because recipes allocate in each step.
template <class Mixer>
void check_two_heads(typename Mixer::config config = {}) {
  encoder_config shape = small_encoder();
  shape.layers = 1, shape.hidden = 4, shape.head_hidden = 0;
  config.heads = 2;
  check<Mixer>(config, shape);
}

}  // namespace

TEST_CASE("softmax attention, with dropout of its weights and a mask, in both blocks") {
  mixers::attention<ss::mask::full, double>::config full;
  full.heads = 2, full.core.dropout = 0.25, full.inputs = full.out = bias::learned;
  check<mixers::attention<ss::mask::full, double>>(full);

  mixers::attention<ss::mask::window, double>::config window;
  window.core.mask = {2, 1}, window.inner = 6, window.heads = 3;
  check<mixers::attention<ss::mask::window, double>, post_norm>(window);
}

TEST_CASE("linear attention with every kind of feature and divisor") {
  check_two_heads<mixers::linear_attention<feature::elu_plus_one, ss::divisor::sum_plus, double>>();
  check_two_heads<
      mixers::linear_attention<feature::cosine_reweighted, ss::divisor::at_least, double>>();
  using exponential = mixers::linear_attention<feature::random_exp, ss::divisor::sum_plus, double>;
  // Gradients treat the maximum as a constant, which is exact if nothing is added.
  exponential::config config;
  config.core.feature.eps = 0, config.core.divisor.eps = 0;
  check_two_heads<exponential>(config);
  using fourier = mixers::linear_attention<feature::random_fourier, ss::divisor::sum_plus, double>;
  fourier::config sines;
  sines.core.feature.scale = 0.1, sines.core.divisor.eps = 1, sines.core.rows = 7;
  check_two_heads<fourier>(sines);
}

TEST_CASE("Linformer, with projections shared by heads, by keys and values, or by neither") {
  for (bool const one_per_head : {false, true})
    check_two_heads<mixers::linformer<double>>({{3, one_per_head, /*separate*/ !one_per_head}});
}

TEST_CASE("Nystromformer, Long-Short Transformer") {
  check_two_heads<mixers::nystromformer<double>>(
      {{/*landmarks*/ 3, /*taps*/ 5, /*newton_steps*/ 2}});
  check_two_heads<mixers::long_short<double>>({{/*rank*/ 3, {1, 2}}});
}

TEST_CASE("Synthesizer: a random map with and without q k^T, a factorized and a dense map") {
  check_two_heads<mixers::synthesizer<true, double>>();
  check_two_heads<mixers::synthesizer<false, double>>();
  check_two_heads<mixers::factorized_synthesizer<double>>({{/*rank*/ 2}});
  check_two_heads<mixers::dense_synthesizer<double>>();
}

TEST_CASE("Reformer") { check_two_heads<mixers::reformer<double>>({{/*chunk*/ 3, /*rounds*/ 2}}); }

TEST_CASE("Sinkformer, Sinkhorn Transformer") {
  check_two_heads<mixers::sinkformer<double>>();
  check_two_heads<mixers::sinkhorn_transformer<double>>({{/*block*/ 4}});
}

TEST_CASE("heads that do not divide the channels are refused") {
  mixers::attention<ss::mask::full, double>::config config;
  config.heads = 3;
  CHECK_THROWS_WITH_AS((check<mixers::attention<ss::mask::full, double>>(config)),
                       "3 heads do not divide 8 channels", task_error);
}
