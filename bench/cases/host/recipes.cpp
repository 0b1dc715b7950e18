// SPDX-License-Identifier: Apache-2.0
// The recipes of examples/recipes, as entries of the arena.
#include "../recipes/doubly_stochastic.hpp"
#include "../recipes/low_rank.hpp"
#include "../recipes/mega.hpp"
#include "../recipes/recurrent.hpp"
#include "../recipes/reformer.hpp"
#include "../recipes/s5.hpp"
#include "../recipes/spade.hpp"
#include "../recipes/synthesizer.hpp"

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
entry<T> const mega("mega", recipe_entry<mega_case<T, 0>>{});
entry<T> const mega_chunk("mega_chunk", recipe_entry<mega_case<T, 128>>{});
entry<T> const mega_csp("mega_csp", recipe_entry<mega_csp_case<T>>{});
entry<T> const s4d("s4d", recipe_entry<s4d_case<T>>{});
entry<T> const s5("s5", recipe_entry<s5_case<T>>{});
entry<T> const etsmlp("etsmlp", recipe_entry<etsmlp_case<T>>{});
entry<T> const spade("spade", recipe_entry<spade_case<T>>{});

}  // namespace
}  // namespace bench
