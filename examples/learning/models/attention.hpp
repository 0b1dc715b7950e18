// SPDX-License-Identifier: Apache-2.0
// Adds models of softmax attention with a mask.
#pragma once

#include "learning/mixers/attention.hpp"
#include "models/catalog.hpp"

namespace learning {

/// Adds a model. `mask_of(request)` returns its mask.
template <class MaskOf>
void add_attention_with(catalog& models, std::string const& name, std::string description,
                        MaskOf mask_of) {
  models[name] = {std::move(description), [mask_of](model_request const& r) {
                    using mixer = mixers::attention<decltype(mask_of(r))>;
                    typename mixer::config config;
                    config.mask = mask_of(r), config.heads = r.heads, config.inner = r.inner;
                    config.dropout = r.attention_dropout;
                    config.inputs = r.inputs, config.out = r.out;
                    return make_encoder<mixer>(r, config);
                  }};
}

/// Returns the size of a mask: the requested one, or by default the published one.
inline index_t reach_of(model_request const& r, index_t published) {
  return r.reach > 0 ? r.reach : published;
}

}  // namespace learning
