// SPDX-License-Identifier: Apache-2.0
// Transformers with sparse masks. The default sizes are those of the published code.
#include "models/attention.hpp"

namespace learning {

void add_sparse_attention(catalog& models) {
  add_attention_with(models, "softmax-strided", "Sparse Transformer, strided", [](auto const& r) {
    return ss::mask::strided{number_or(r.reach, 50), number_or(r.reach, 50)};
  });
  add_attention_with(models, "softmax-fixed", "Sparse Transformer, fixed pattern",
                     [](auto const& r) {
                       index_t const block = number_or(r.reach, 50);
                       return ss::mask::fixed{block, (block + 4) / 5};
                     });
  add_attention_with(models, "softmax-dilated-window", "Longformer's window, every other row",
                     [](auto const& r) {
                       index_t const half = number_or(r.reach, 512) / 2;
                       return ss::mask::dilated_window{half, half, 2};
                     });
  add_attention_with(models, "softmax-global-window",
                     "Longformer: a window, and a global first row", [](auto const& r) {
                       index_t const size = number_or(r.reach, 512);
                       return ss::mask::either<ss::mask::window, ss::mask::globals>{
                           {size / 2 - 1, size - size / 2}, {1}};
                     });
  add_attention_with(models, "softmax-chunk-back", "Reformer's chunks, in the order of rows",
                     [](auto const& r) { return ss::mask::chunk_back{number_or(r.reach, 10)}; });
  add_attention_with(models, "softmax-bigbird", "BigBird, blocks of 64 rows", [](auto const& r) {
    ss::mask::bigbird mask{};
    mask.block = number_or(r.reach, 64);
    mask.keys = r.input.length + (r.encoder.pool_kind == pooling::cls ? 1 : 0);
    mask.seed = r.seed;
    return mask;
  });
}

}  // namespace learning
