// SPDX-License-Identifier: Apache-2.0
// Sliceformer with every order, and its variants.
#include "learning/mixers/sorting.hpp"

#include "models/catalog.hpp"

namespace learning {

void add_sorting(catalog& models) {
  using namespace mixers;
  add_projected<sorting<ss::ascending>>(models, "sort-ascending", "Sliceformer");
  add_projected<sorting<ss::descending>>(models, "sort-descending", "Sliceformer, descending");
  add_projected<sorting<ss::half_half>>(
      models, "sort-half-half", "Sliceformer, half of each head's channels descending",
      [](auto& config, model_request const& r) { config.core.order.heads = r.heads; });
  add_projected<sorting<ss::interleave>>(models, "sort-interleave",
                                         "Sliceformer, order-interleave of the paper");
  add_projected<sorting<ss::haar_interleave>>(
      models, "sort-haar", "Sliceformer, order-interleave of the published code",
      [](auto& config, model_request const& r) { config.core.order.heads = r.heads; });
  for (index_t const components : {2, 4})
    add_projected<multi_permutation<>>(
        models, "multi-permutation-" + std::to_string(components),
        "Sliceformer, a mean of " + std::to_string(components) + " powers of the permutation",
        [components](auto& config, model_request const&) { config.core.components = components; });
  add_projected<max_exchange<>>(models, "max-exchange", "Sliceformer, the maximum to row 0");
  add_projected<shuffle<>>(models, "shuffle",
                           "channels shuffled by constants: Sliceformer's ablation");
  add_projected<shuffle<ss::shared_by_channels>>(models, "shuffle-rows",
                                                 "whole rows shuffled by a constant");
}

}  // namespace learning
