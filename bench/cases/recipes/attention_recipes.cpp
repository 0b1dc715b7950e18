// SPDX-License-Identifier: Apache-2.0
// Recipes of attention (examples/recipes), as entries of the arena.
#include "doubly_stochastic.hpp"
#include "low_rank.hpp"
#include "reformer.hpp"
#include "synthesizer.hpp"

namespace bench {
namespace {

using T = SLICESORT_BENCH_DTYPE;

entry<T> const linformer("linformer", recipe_entry<linformer_case<T>>{});
entry<T> const nystromformer("nystromformer", recipe_entry<nystromformer_case<T>>{});
entry<T> const long_short("long_short", recipe_entry<long_short_case<T>>{});
entry<T> const reformer("reformer", recipe_entry<reformer_case<T>>{});
entry<T> const sinkformer("sinkformer", recipe_entry<sinkformer_case<T>>{});
entry<T> const sinkhorn_transformer("sinkhorn_transformer",
                                    recipe_entry<sinkhorn_transformer_case<T>>{});
entry<T> const synthesizer("synthesizer", recipe_entry<synthesizer_case<T>>{});

}  // namespace
}  // namespace bench
