// SPDX-License-Identifier: Apache-2.0
// Sliceformer, in every order, and its variants.
#include "learning/mixers/sorting.hpp"

#include "models/catalog.hpp"

namespace learning {

void add_sorting(catalog& all) {
  using namespace mixers;
  add_projected<sorting<ss::ascending>>(all, "sort-ascending", "Sliceformer");
  add_projected<sorting<ss::descending>>(all, "sort-descending", "Sliceformer, descending");
  add_projected<sorting<ss::half_half>>(
      all, "sort-half-half", "Sliceformer, half of each head's channels descending",
      [](auto& with, model_request const& r) { with.core.order.heads = r.heads; });
  add_projected<sorting<ss::interleave>>(all, "sort-interleave",
                                         "Sliceformer, order-interleave of the paper");
  add_projected<sorting<ss::haar_interleave>>(
      all, "sort-haar", "Sliceformer, order-interleave of the published code",
      [](auto& with, model_request const& r) { with.core.order.heads = r.heads; });
  for (index_t const terms : {2, 4})
    add_projected<multi_permutation<>>(
        all, "multi-permutation-" + std::to_string(terms),
        "Sliceformer, a mean of " + std::to_string(terms) + " powers of the permutation",
        [terms](auto& with, model_request const&) { with.core.terms = terms; });
  add_projected<max_exchange<>>(all, "max-exchange", "Sliceformer, the maximum to row 0");
  add_projected<shuffle<>>(all, "shuffle",
                           "channels shuffled by constants: Sliceformer's ablation");
  add_projected<shuffle<ss::shared_by_channels>>(all, "shuffle-rows",
                                                 "whole rows shuffled by a constant");
}

}  // namespace learning
