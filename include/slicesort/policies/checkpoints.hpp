// SPDX-License-Identifier: Apache-2.0
/// Which intermediate states of a chain `forward` saves for `backward`: a trade of memory for time
/// that never changes a result.
#pragma once

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_TYPES_BEGIN

/// Saves every `every`-th state: the inputs of the factors `every`, `2 * every`, ... Backward
/// recomputes the others from the last one saved before them. With 0 none is saved. The input of
/// factor 0 is x, which the caller has.
struct checkpoints {
  index_t every = 1;

  /// How many states a chain of `factors` factors saves.
  SLICESORT_ABI_TAG constexpr index_t states(index_t factors) const {
    return every <= 0 || factors <= 0 ? 0 : (factors - 1) / every;
  }
};

/// All states: the fastest backward, and `factors - 1` times the memory of x.
inline constexpr checkpoints save_all{1};
/// One state in `factors`.
SLICESORT_ABI_TAG constexpr checkpoints save_every(index_t factors) { return {factors}; }
/// None: backward recomputes every state.
inline constexpr checkpoints recompute{0};

/// The saved states of a chain, `[checkpoints::states, batch, length, channels]`; `states[s]` is
/// the input of factor `(s + 1) * every`. Or `no_saved`.
template <class T>
using saved_states = saved_argument<tensor_stack<T>>;

/// The saved states of a chain as `backward` reads them; `no_saved` if there are none.
template <class T>
using const_saved_states = saved_argument<tensor_stack<T const>>;

SLICESORT_TYPES_END
