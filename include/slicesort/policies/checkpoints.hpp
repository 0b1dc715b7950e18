// SPDX-License-Identifier: Apache-2.0
/// Checkpoints: the intermediate states of a chain that `forward` saves for `backward`. They trade
/// memory for time and never change a result.
#pragma once

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_TYPES_BEGIN

/// Saves every `every`-th state: the inputs of the factors `every`, `2 * every`, ... Backward
/// recomputes the others from the last saved one. 0 saves none.
struct checkpoints {
  index_t every = 1;

  /// Number of states that a chain of `factors` factors saves.
  SLICESORT_ABI_TAG constexpr index_t states(index_t factors) const {
    return every <= 0 || factors <= 0 ? 0 : (factors - 1) / every;
  }
};

/// Saves all states: the fastest backward, with `factors - 1` times the memory of x.
inline constexpr checkpoints save_all{1};
/// Saves every `factors`-th state.
SLICESORT_ABI_TAG constexpr checkpoints save_every(index_t factors) { return {factors}; }
/// Saves no states: backward recomputes all of them.
inline constexpr checkpoints recompute{0};

/// The saved states of a chain, `[checkpoints::states, batch, length, channels]`, of the element
/// type of x; `states[s]` is the input of factor `(s + 1) * every`. `no_saved` skips them.
template <class T>
using saved_states = saved_argument<tensor_stack<T>>;

/// The saved states of a chain as `backward` reads them: `[checkpoints::states, batch, length,
/// channels]` of the element type of x; `no_saved` if none were saved.
template <class T>
using const_saved_states = saved_argument<tensor_stack<T const>>;

SLICESORT_TYPES_END
