// SPDX-License-Identifier: Apache-2.0
// Adds models of softmax attention with a mask.
#pragma once

#include "learning/mixers/attention.hpp"
#include "models/catalog.hpp"

namespace learning {

/// `mask_of(request)` makes the mask.
template <class MaskOf>
void add_attention_with(catalog& all, std::string const& name, std::string about, MaskOf mask_of) {
  all[name] = {std::move(about), [mask_of](model_request const& r) {
                 using mixer = mixers::attention<decltype(mask_of(r))>;
                 typename mixer::config with;
                 with.mask = mask_of(r), with.heads = r.heads, with.inner = r.inner;
                 with.dropout = r.attention_dropout;
                 with.inputs = r.inputs, with.out = r.out;
                 return make_encoder<mixer>(r, with);
               }};
}

/// The size of a mask: what was asked for, or the published one.
inline index_t reach_of(model_request const& r, index_t published) {
  return r.reach > 0 ? r.reach : published;
}

}  // namespace learning
