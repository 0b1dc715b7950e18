// SPDX-License-Identifier: Apache-2.0
// Adds models of softmax attention with a mask.
#pragma once

#include "learning/mixers/attention.hpp"
#include "models/catalog.hpp"

#include <string>
#include <utility>

namespace learning {

/// Adds a model. `mask_of(request)` returns its mask.
template <class MaskOf>
void add_attention_with(catalog& models, std::string const& name, std::string description,
                        MaskOf mask_of) {
  using mask = decltype(mask_of(std::declval<model_request const&>()));
  add_multi_head<mixers::attention<mask>>(models, name, std::move(description),
                                          [mask_of](auto& config, model_request const& r) {
                                            config.mask = mask_of(r);
                                            config.dropout = r.attention_dropout;
                                          });
}

}  // namespace learning
