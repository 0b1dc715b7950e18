// SPDX-License-Identifier: Apache-2.0
// Compares the gradients of whole models, with every mixer and block, with central differences in
// double, including dropout, padding and samples of one row.
#include "learning/mixers/any_mixer.hpp"
#include "learning/mixers/csp.hpp"
#include "learning/mixers/none.hpp"
#include "learning/mixers/sorting.hpp"
#include "learning/mixers/sparse_mix.hpp"
#include "trial.hpp"

#include <doctest/doctest.h>

using namespace learning_tests;
namespace ss = slicesort;

namespace {

template <class Mixer, class Block = pre_norm>
void check(typename Mixer::config const& mixer = {}, encoder_config const& config = small_encoder(),
           sample_shape shape = small_tokens()) {
  using any_mixer = mixers::any_mixer<double>;  // one encoder for all mixers compiles faster
  encoder<any_mixer, Block> m(shape, config, any_mixer::holding<Mixer>(mixer), 1);
  generated_batch<double> const samples(shape);
  check_gradients(m, samples.view());
}

}  // namespace

TEST_CASE("Sliceformer's mixers") {
  check<mixers::sorting<ss::ascending, double>>();
  check<mixers::sorting<ss::interleave, double>>();
  check<mixers::multi_permutation<double>>();
  check<mixers::max_exchange<double>>();
  check<mixers::shuffle<ss::per_channel, double>>();
  check<mixers::shuffle<ss::shared_by_channels, double>>();
}

TEST_CASE("CSP's mixers") {
  check<mixers::csp<ss::shift::linear, ss::reference, double>>();
  mixers::csp<ss::shift::power, ss::ascending, double>::config power;
  power.core.groups = ss::group_count{2};
  power.inner = 6, power.values = bias::learned, power.out = bias::learned;
  check<mixers::csp<ss::shift::power, ss::ascending, double>>(power);
}

TEST_CASE("Paramixer's mixers, which read the embedding in every layer") {
  encoder_config config = small_encoder();
  config.rules.weights = initial::torch, config.rules.hidden = activation::gelu;
  mixers::sparse_mix<ss::topology::chord, double>::config chord;
  chord.hidden = 5;
  check<mixers::sparse_mix<ss::topology::chord, double>, bare>(chord, config);
  check<mixers::sparse_mix<ss::topology::chord, double>, bare>(chord, config, small_features());
  mixers::sparse_mix<ss::topology::cdil, double>::config cdil;
  cdil.hidden = 5, cdil.saved = ss::recompute;
  check<mixers::sparse_mix<ss::topology::cdil, double>>(cdil, config);
}

TEST_CASE("the control, in every block") {
  check<mixers::none<double>>();
  check<mixers::none<double>, post_norm>();
  check<mixers::none<double>, bare>();
}

TEST_CASE("every pooling, position, first weight and activation") {
  for (pooling const pooled : {pooling::cls, pooling::mean, pooling::max, pooling::flatten})
    for (sample_shape const shape : {small_tokens(), small_features()}) {
      encoder_config config = small_encoder();
      config.layers = 1, config.pool_kind = pooled;
      config.position_kind = pooled == pooling::max ? positions::sinusoid : positions::learned;
      config.rules.weights = pooled == pooling::mean ? initial::normal : initial::torch;
      config.rules.hidden = pooled == pooling::cls ? activation::relu : activation::gelu;
      config.head_hidden = 0;
      config.masks_padding = pooled != pooling::flatten;
      CAPTURE(static_cast<int>(pooled));
      check<mixers::sorting<ss::descending, double>>({}, config, shape);
    }
}
