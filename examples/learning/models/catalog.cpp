// SPDX-License-Identifier: Apache-2.0
// The list of all models, and their encoders.
#include "models/catalog.hpp"

namespace learning {

catalog all_models() {
  catalog models;
  for (auto* add : {add_sorting, add_csp, add_sparse_mix, add_attention, add_sparse_attention,
                    add_linear_attention, add_recipes, add_state_spaces, add_none})
    add(models);
  return models;
}

std::unique_ptr<model<float>> make_encoder(model_request const& r,
                                           mixers::any_mixer<>::config const& mixer) {
  auto const make = [&](auto block) -> std::unique_ptr<model<float>> {
    using encoder_type = encoder<mixers::any_mixer<>, decltype(block)>;
    return std::make_unique<encoder_type>(r.input, r.encoder, mixer, r.seed);
  };
  if (r.block == block_kind::post_norm) return make(post_norm{});
  if (r.block == block_kind::gated) return make(gated{});
  if (r.block == block_kind::bare) return make(bare{});
  return make(pre_norm{});
}

}  // namespace learning
