// SPDX-License-Identifier: Apache-2.0
// State spaces, and MEGA with attention, whole or in chunks, and with CSP.
#include "learning/mixers/state_space.hpp"
#include "learning/mixers/mega.hpp"
#include "learning/mixers/spade.hpp"

#include "models/catalog.hpp"

namespace learning {
namespace {

using namespace mixers;

template <class Mixer>
void add(catalog& models, std::string const& name, std::string description,
         std::function<void(decltype(Mixer::config::core)&, model_request const&)> set = {}) {
  models[name] = {std::move(description), [set](model_request const& r) {
                    typename Mixer::config config;
                    config.inner = r.inner;
                    if (set) set(config.core, r);
                    return make_encoder<Mixer>(r, config);
                  }};
}
template <class Attention>
void add_mega(catalog& models, std::string const& name, std::string description, index_t chunk,
              Attention const& attention) {
  add<mega<Attention>>(
      models, name, std::move(description), [=](auto& config, model_request const& r) {
        config.chunk = number_or(r.reach, chunk), config.channels = number_or(r.rank, 64);
        config.attention = attention;
      });
}
void set_states(state_space_config& config, model_request const& r) {
  config.states = number_or(r.rank, config.states);
}

}  // namespace

void add_state_spaces(catalog& models) {
  add<s4d<>>(models, "s4d", "S4D, 16 complex states per channel, both directions", set_states);
  add<s5<>>(models, "s5", "S5, 16 complex states, both directions", set_states);
  add<etsmlp<>>(models, "etsmlp", "ETSMLP, both directions");
  add_multi_head<spade<>>(models, "spade", "SPADE: S4D and a window of 128 rows",
                          [](auto& config, model_request const& r) {
                            index_t const reach = number_or(r.reach, 128);
                            config.window = {(reach - 1) / 2, reach / 2};
                            set_states(config.global, r);
                          });
  ss::softmax_attention<> const softmax;
  ss::pointwise_attention<> const laplace(ss::per_key{});
  add_mega(models, "mega", "MEGA with softmax, for texts", 0, softmax);
  add_mega(models, "mega-chunk", "MEGA with softmax in chunks of 128 rows", 128, softmax);
  add_mega(models, "mega-laplace", "MEGA with Laplace's function, for images", 0, laplace);
  add<mega_csp<>>(models, "mega-csp", "MEGA with CSP, ascending, without shifts",
                  [](auto& config, model_request const& r) {
                    if (r.group > 0) config.groups = ss::group_size{r.group};
                  });
}

}  // namespace learning
