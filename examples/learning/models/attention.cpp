// SPDX-License-Identifier: Apache-2.0
// Transformers with softmax attention, full or with masks that allow one range of keys per query,
// and with the attention of examples/recipes, whose steps compile to the same kernels. A name that
// ends in a repository has the settings of its code (google: the Long Range Arena), as far as the
// recipe has them; docs/learning lists the rest.
#include "models/attention.hpp"

#include "learning/mixers/doubly_stochastic.hpp"
#include "learning/mixers/low_rank.hpp"
#include "learning/mixers/reformer.hpp"
#include "learning/mixers/synthesizer.hpp"

namespace learning {
namespace {

using namespace mixers;

// Adds a model with a published configuration, whose rank --rank replaces.
template <class Mixer>
void add_ranked(catalog& models, std::string const& name, std::string description,
                decltype(Mixer::config::core) const& published = {}) {
  add_multi_head<Mixer>(models, name, std::move(description),
                        [published](auto& config, model_request const& r) {
                          config = published;
                          config.rank = number_or(r.rank, published.rank);
                        });
}
void add_reformer(catalog& models, std::string const& name, index_t rounds) {
  add_multi_head<reformer<>>(
      models, name, "Reformer, chunks of 64 rows, " + std::to_string(rounds) + " rounds",
      [rounds](auto& config, model_request const& r) {
        config.chunk = number_or(r.reach, 64), config.rounds = number_or(r.rounds, rounds);
        config.seed = r.seed;
      });
}

}  // namespace

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

void add_recipes(catalog& models) {
  add_ranked<linformer<>>(models, "linformer", "Linformer, rank 256");
  add_ranked<linformer<>>(models, "linformer-google", "Linformer, rank 16, one projection",
                          {16, /*one_per_head*/ false, /*separate*/ false});
  add_ranked<linformer<>>(models, "linformer-nystromformer",
                          "Linformer, rank 256, a projection per head",
                          {256, /*one_per_head*/ true, /*separate*/ false});
  add_ranked<linformer<>>(models, "linformer-lucidrains", "Linformer, rank 256, one projection",
                          {256, /*one_per_head*/ false, /*separate*/ false});
  add_ranked<nystromformer<>>(models, "nystromformer", "Nystromformer, 128 landmarks, 35 taps");
  add_ranked<nystromformer<>>(models, "nystromformer-lucidrains",
                              "Nystromformer, 256 landmarks, 33 taps", {256, 33, 6});
  add_multi_head<long_short<>>(
      models, "long-short", "Long-Short Transformer, window of 17 rows, rank 32",
      [](auto& config, model_request const& r) {
        index_t const reach = number_or(r.reach, 17);
        config.window = {(reach - 1) / 2, reach / 2}, config.rank = number_or(r.rank, 32);
      });
  add_multi_head<synthesizer<>>(models, "synthesizer", "Synthesizer, random map and q k^T");
  add_multi_head<synthesizer<false>>(models, "synthesizer-random", "Synthesizer, random map");
  add_ranked<factorized_synthesizer<>>(models, "synthesizer-factorized",
                                       "Synthesizer, random map of rank 32");
  add_multi_head<dense_synthesizer<>>(models, "synthesizer-dense", "Synthesizer, dense map");
  add_multi_head<sinkformer<>>(models, "sinkformer", "Sinkformer, 3 half-steps");
  add_multi_head<sinkhorn_transformer<>>(
      models, "sinkhorn-transformer", "Sinkhorn Transformer, blocks of 50 rows",
      [](auto& config, model_request const& r) { config.block = number_or(r.reach, 50); });
  add_reformer(models, "reformer", 4);
  add_reformer(models, "reformer-nystromformer", 2);
  add_reformer(models, "reformer-lucidrains", 8);
}

}  // namespace learning
