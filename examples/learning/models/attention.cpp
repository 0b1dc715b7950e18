// SPDX-License-Identifier: Apache-2.0
// Transformers with softmax attention, full or with masks that allow one range of keys per query.
#include "models/attention.hpp"

namespace learning {

void add_attention(catalog& models) {
  add_attention_with(models, "softmax", "Transformer, softmax attention",
                     [](model_request const&) { return ss::mask::full{}; });
  add_attention_with(models, "softmax-causal", "Transformer, causal softmax attention",
                     [](model_request const&) { return ss::mask::causal{}; });
  add_attention_with(models, "softmax-window", "Longformer's window, 512 rows", [](auto const& r) {
    index_t const size = number_or(r.reach, 512);
    return ss::mask::window{size / 2 - 1, size - size / 2};
  });
  add_attention_with(models, "softmax-block-local", "local attention in blocks of 50 rows",
                     [](auto const& r) { return ss::mask::block_local{number_or(r.reach, 50)}; });
}

}  // namespace learning
