// SPDX-License-Identifier: Apache-2.0
// Recipes with recurrences, alone or beside attention (examples/recipes), as entries of the arena.
#include "mega.hpp"
#include "recurrent.hpp"
#include "s5.hpp"
#include "spade.hpp"

namespace bench {
namespace {

using T = SLICESORT_BENCH_DTYPE;

entry<T> const mega("mega", recipe_entry<mega_case<T, 0>>{});
entry<T> const mega_chunk("mega_chunk", recipe_entry<mega_case<T, 128>>{});
entry<T> const mega_csp("mega_csp", recipe_entry<mega_csp_case<T>>{});
entry<T> const s4d("s4d", recipe_entry<s4d_case<T>>{});
entry<T> const s5("s5", recipe_entry<s5_case<T>>{});
entry<T> const etsmlp("etsmlp", recipe_entry<etsmlp_case<T>>{});
entry<T> const spade("spade", recipe_entry<spade_case<T>>{});

}  // namespace
}  // namespace bench
