// SPDX-License-Identifier: Apache-2.0
/// Which intermediate states of a chain `forward` leaves for `backward`, where memory is to be had
/// for time. Never changes a result.
#pragma once

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {

/// Every `every`-th state is saved, from the first factor's output on: the inputs of the factors
/// `every`, `2 * every`, ... Backward forms the others again, from the last one saved before. 0:
/// none is saved. (The first factor's input is x, which the caller has.)
struct checkpoints {
  index_t every = 1;

  /// How many states a chain of `factors` factors saves.
  constexpr index_t states(index_t factors) const {
    return every <= 0 || factors <= 0 ? 0 : (factors - 1) / every;
  }
};

/// All states: the fastest backward, and `factors - 1` times the memory of x.
inline constexpr checkpoints save_all{1};
/// One state in `factors`.
constexpr checkpoints save_every(index_t factors) { return {factors}; }
/// None: backward forms every state again.
inline constexpr checkpoints recompute{0};

/// The saved states of a chain, `[checkpoints::states, batch, length, channels]`: `states[s]` is
/// the input of factor `(s + 1) * every`.
template <class T>
struct saved_states {
  tensor4<T> states;
};

/// The same, as `backward` reads it; `no_saved` where there are none.
template <class T>
struct const_saved_states {
  tensor4<T const> states;

  constexpr const_saved_states(tensor4<T const> view) : states(view) {}
  constexpr const_saved_states(saved_states<T> saved) : states(saved.states) {}
  constexpr const_saved_states(no_saved_t) : states() {}
};

}  // namespace v0
}  // namespace slicesort
