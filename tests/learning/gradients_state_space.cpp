// SPDX-License-Identifier: Apache-2.0
// Compares the gradients of state spaces and of MEGA with central differences in double, and checks
// that they ignore the memory of padding.
#include "learning/mixers/any_mixer.hpp"
#include "learning/mixers/mega.hpp"
#include "learning/mixers/spade.hpp"
#include "learning/mixers/state_space.hpp"
#include "trial.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using namespace learning_tests;
namespace ss = slicesort;

namespace {

// MEGA's initial queries and keys are next to 0, and so are their gradients.
void enlarge_queries(parameters<double>& params) {
  for (auto const& entry : params.entries())
    if (entry.name.find("mixer.gamma") != std::string::npos)
      for (index_t i = entry.offset; i < entry.offset + entry.size; ++i)
        params.values()[static_cast<std::size_t>(i)] *= 25;
}
// All mixers share an encoder. One layer, because recipes allocate in each step.
template <class Mixer, class Block = pre_norm>
void check(typename Mixer::config const& mixer, index_t layers = 1) {
  using any_mixer = mixers::any_mixer<double>;
  encoder_config config = small_encoder();
  config.width = 6, config.layers = layers, config.hidden = 4, config.head_hidden = 0;
  config.rules.hidden = activation::silu;
  generated_batch<double> const samples(small_tokens());
  for (pooling const pooled : {pooling::mean, pooling::flatten}) {  // flatten also reads padding
    config.pool_kind = pooled;
    encoder<any_mixer, Block> model(small_tokens(), config, any_mixer::holding<Mixer>(mixer), 1);
    enlarge_queries(model.params());
    check_undefined_memory(model, samples.view());
    if (pooled == pooling::mean) check_gradients(model, samples.view());
  }
}

}  // namespace

TEST_CASE("S4D and S5, in one direction and in both") {
  for (index_t directions : {1, 2}) {
    check<mixers::s4d<double>>({{/*states*/ 3, directions}});
    check<mixers::s5<double>>({{/*states*/ 3, directions}});
  }
}

TEST_CASE("ETSMLP, whose projection may be wider") {
  check<mixers::etsmlp<double>>({{}, /*inner*/ 5});
}

TEST_CASE("SPADE") {
  mixers::spade<double>::config config;
  config.core = {{2, 1}, {/*states*/ 2, /*directions*/ 2}};
  config.heads = 2, config.inner = 4;
  check<mixers::spade<double>>(config);
}

TEST_CASE("MEGA, in its block and in pre_norm, whole and in chunks") {
  using mega = mixers::mega<ss::softmax_attention<>, double>;
  check<mega, gated>({{/*chunk*/ 0, /*channels*/ 3}, /*states*/ 2, /*inner*/ 5}, 2);
  check<mega>({{/*chunk*/ 4, /*channels*/ 3}, /*states*/ 2});
  ss::pointwise_attention<> const laplace(ss::per_key{});
  check<mixers::mega<ss::pointwise_attention<>, double>>(
      {{/*chunk*/ 0, /*channels*/ 3, laplace}, /*states*/ 2});
}

TEST_CASE("MEGA with CSP") {
  using mega_csp = mixers::mega_csp<ss::csp<ss::shift::linear, ss::reference>, double>;
  check<mega_csp, gated>({{ss::group_size{2}}, /*states*/ 2, /*inner*/ 5});
}
