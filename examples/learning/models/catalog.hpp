// SPDX-License-Identifier: Apache-2.0
// Models by name. Each file of this folder adds those of one mixer, so that they compile side by
// side.
#pragma once

#include "learning/encoder.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace learning {

/// What a user may choose of a model beside its mixer.
struct model_request {
  sample_shape input{};
  encoder_config encoder{};
  std::string block = "pre_norm";
  index_t heads = 1;  ///< of attention, and of orders and shifts that have heads
  index_t inner = 0;  ///< channels of values (and queries and keys); 0: the width
  index_t group = 2;  ///< rows of CSP's groups; 0: all
  index_t reach = 0;  ///< rows of masks' windows and blocks; links of sparse factors; 0: theirs
  index_t mixer_hidden = 0;  ///< of a mixer's own MLPs; 0: as in the block's
  index_t factors = 0;       ///< sparse factors; 0: ceil(log2 length)
  double attention_dropout = 0;
  bias inputs = bias::none, out = bias::none;  ///< of the projections around a mixer
  std::uint64_t seed = 0;
};

inline index_t mixer_hidden_of(model_request const& r) {
  return r.mixer_hidden > 0 ? r.mixer_hidden : r.encoder.hidden;
}

struct catalog_entry {
  std::string about;
  std::function<std::unique_ptr<model<float>>(model_request const&)> make;
};
using catalog = std::map<std::string, catalog_entry>;

void add_sorting(catalog&);
void add_csp(catalog&);
void add_sparse_mix(catalog&);
void add_attention(catalog&);
void add_sparse_attention(catalog&);
void add_none(catalog&);

/// All of them.
inline catalog all_models() {
  catalog all;
  for (auto* add :
       {add_sorting, add_csp, add_sparse_mix, add_attention, add_sparse_attention, add_none})
    add(all);
  return all;
}

/// A model in the block that was asked for.
template <class Mixer>
std::unique_ptr<model<float>> make_encoder(model_request const& r,
                                           typename Mixer::config const& mixer) {
  if (r.block == "post_norm")
    return std::make_unique<encoder<Mixer, post_norm>>(r.input, r.encoder, mixer, r.seed);
  if (r.block == "bare")
    return std::make_unique<encoder<Mixer, bare>>(r.input, r.encoder, mixer, r.seed);
  if (r.block == "pre_norm")
    return std::make_unique<encoder<Mixer, pre_norm>>(r.input, r.encoder, mixer, r.seed);
  throw task_error("--block is " + r.block + ", must be pre_norm, post_norm or bare");
}

/// Adds a mixer of values with projections around it (`mixers::projected`).
template <class Mixer>
void add_projected(catalog& all, std::string const& name, std::string about,
                   std::function<void(typename Mixer::config&, model_request const&)> set = {}) {
  all[name] = {std::move(about), [set](model_request const& r) {
                 typename Mixer::config with;
                 with.inner = r.inner, with.values = r.inputs, with.out = r.out;
                 if (set) set(with, r);
                 return make_encoder<Mixer>(r, with);
               }};
}

}  // namespace learning
