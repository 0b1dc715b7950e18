// SPDX-License-Identifier: Apache-2.0
// Models by name.
#pragma once

#include "learning/encoder.hpp"
#include "learning/mixers/any_mixer.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace learning {

enum class block_kind { pre_norm, post_norm, gated, bare };

/// Settings of a model, whose mixer is chosen by name.
struct model_request {
  sample_shape input{};
  encoder_config encoder{};
  block_kind block = block_kind::pre_norm;
  index_t heads = 1;   ///< heads of attention, sort orders or shifts
  index_t inner = 0;   ///< channels of values (and queries and keys); 0: the width
  index_t group = 2;   ///< rows per CSP group; 0: all rows
  index_t reach = 0;   ///< rows of windows, blocks and chunks, or links; 0: the published value
  index_t rank = 0;    ///< projected rows, landmarks or random features; 0: the published value
  index_t rounds = 0;  ///< rounds of hashing; 0: the published value
  index_t mixer_hidden = 0;  ///< hidden width of the mixer's MLPs; 0: the block's
  index_t factors = 0;       ///< sparse factors; 0: ceil(log2 length)
  double attention_dropout = 0;
  bias inputs = bias::none, out = bias::none;  ///< biases of the projections around a mixer
  std::uint64_t seed = 0;
};

inline index_t mixer_hidden_of(model_request const& r) {
  return r.mixer_hidden > 0 ? r.mixer_hidden : r.encoder.hidden;
}

struct catalog_entry {
  std::string description;
  std::function<std::unique_ptr<model<float>>(model_request const&)> make;
};
using catalog = std::map<std::string, catalog_entry>;

/// Returns all models. Each source file of this folder adds some of them.
catalog all_models();
void add_sorting(catalog&);
void add_csp(catalog&);
void add_sparse_mix(catalog&);
void add_attention(catalog&);
void add_sparse_attention(catalog&);
void add_linear_attention(catalog&);
void add_recipes(catalog&);
void add_state_spaces(catalog&);
void add_none(catalog&);

/// Creates an encoder with the requested block.
std::unique_ptr<model<float>> make_encoder(model_request const& r,
                                           mixers::any_mixer<>::config const& mixer);
template <class Mixer>
std::unique_ptr<model<float>> make_encoder(model_request const& r,
                                           typename Mixer::config const& mixer) {
  return make_encoder(r, mixers::any_mixer<>::holding<Mixer>(mixer));
}

/// Adds a mixer of values (`mixers::projected`).
template <class Mixer>
void add_projected(catalog& models, std::string const& name, std::string description,
                   std::function<void(typename Mixer::config&, model_request const&)> set = {}) {
  models[name] = {std::move(description), [set](model_request const& r) {
                    typename Mixer::config config;
                    config.inner = r.inner, config.values = r.inputs, config.out = r.out;
                    if (set) set(config, r);
                    return make_encoder<Mixer>(r, config);
                  }};
}

/// Adds a mixer of heads (`mixers::multi_head`). `set` changes the configuration of its operator.
template <class Mixer>
void add_multi_head(
    catalog& models, std::string const& name, std::string description,
    std::function<void(decltype(Mixer::config::core)&, model_request const&)> set = {}) {
  models[name] = {std::move(description), [set](model_request const& r) {
                    typename Mixer::config config;
                    config.heads = r.heads, config.inner = r.inner;
                    config.inputs = r.inputs, config.out = r.out;
                    if (set) set(config.core, r);
                    return make_encoder<Mixer>(r, config);
                  }};
}

/// Returns the requested number, or a default if it is 0.
inline index_t number_or(index_t requested, index_t otherwise) {
  return requested > 0 ? requested : otherwise;
}

}  // namespace learning
