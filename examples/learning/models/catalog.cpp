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
  using mixers::any_mixer;
  if (r.block == "post_norm")
    return std::make_unique<encoder<any_mixer<>, post_norm>>(r.input, r.encoder, mixer, r.seed);
  if (r.block == "gated")
    return std::make_unique<encoder<any_mixer<>, gated>>(r.input, r.encoder, mixer, r.seed);
  if (r.block == "bare")
    return std::make_unique<encoder<any_mixer<>, bare>>(r.input, r.encoder, mixer, r.seed);
  if (r.block == "pre_norm")
    return std::make_unique<encoder<any_mixer<>, pre_norm>>(r.input, r.encoder, mixer, r.seed);
  throw task_error("--block is " + r.block + ", must be pre_norm, post_norm, gated or bare");
}

}  // namespace learning
