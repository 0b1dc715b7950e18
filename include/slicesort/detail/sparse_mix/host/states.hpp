// SPDX-License-Identifier: Apache-2.0
// Provides the inputs of sparse_mix's factors from the last to the first. Loads saved states and
// recomputes the others.
#pragma once

#include <slicesort/detail/sparse_mix/host/chain.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <utility>

SLICESORT_DETAIL_BEGIN

// Applies one factor forward. See mix_chain::mix.
template <class T, class A>
void mix_forward(mix_chain<T> const& chain, tensor3<T const> x, index_t factor, A const* input,
                 A* output, tensor3<T> const* stream = nullptr, bool stream_only = false) {
  residual_form const residual = chain.call().config.residual;
  if (residual == residual_form::initial && factor > 0) chain.load(x, output);
  A const* const start = residual == residual_form::none                        ? nullptr
                         : residual == residual_form::per_factor || factor == 0 ? input
                                                                                : output;
  chain.mix(mix_direction::forward, factor, start, input, output, true, stream, stream_only);
}

// With a third tile, keeps one of the recomputed states. This recomputes a chain of 12 factors in
// 29 steps instead of 66. If all states are saved, loads every other state and recomputes the next
// one: the rows of a tile are on many pages, so loading a tile takes longer than applying a factor.
template <class T>
class mix_states {
 public:
  using A = accumulator_t<T>;

  // The tiles provide memory for states. `kept_tile` may be null.
  mix_states(mix_chain<T> const& chain, tensor3<T const> x, tensor_stack<T const> saved_states,
             A* tile, A* spare_tile, A* kept_tile)
      : chain_(chain),
        x_(x),
        saved_states_(saved_states),
        state_tile_(tile),
        spare_tile_(spare_tile),
        kept_tile_(kept_tile) {}

  // Returns the input of a factor. The result is valid until the next call.
  A* compute_input(index_t factor) {
    if (factor == tile_factor_) return record_input(state_tile_);
    tile_factor_ = -1;
    index_t const interval = chain_.call().config.every,
                  stride = interval == 1 && kept_tile_ != nullptr ? 2 : interval;
    index_t position = stride > 0 ? factor / stride * stride : 0;
    A* current = state_tile_;
    index_t kept_position = -1;
    if (position < kept_factor_ && kept_factor_ <= factor) {
      position = kept_factor_;
      current = kept_tile_;
    } else {
      chain_.load(position == 0 ? x_ : saved_states_[position / interval - 1], current);
      tile_factor_ = position;
      if (kept_tile_ != nullptr)
        kept_position = factor - count_recomputed_states(factor - position + 1) + 1;
      kept_factor_ = -1;
    }
    while (position < factor) {
      A* const next = position + 1 == kept_position ? kept_tile_
                      : current == state_tile_      ? spare_tile_
                                                    : state_tile_;
      if (next == state_tile_) tile_factor_ = -1;
      mix_forward(chain_, x_, position, current, next);
      if (++position == kept_position) kept_factor_ = kept_position;
      current = next;
    }
    if (current == spare_tile_) {
      std::swap(spare_tile_, state_tile_);
      tile_factor_ = -1;
      current = state_tile_;
    }
    return record_input(current);
  }

  // Returns the tile of the last input, which is in cache and no longer needed, and takes
  // `replacement` instead. The next call of input_of may overwrite the replacement.
  A* exchange(A* replacement) {
    A*& reused = last_input_ == state_tile_                           ? state_tile_
                 : last_input_ == kept_tile_ && kept_tile_ != nullptr ? kept_tile_
                                                                      : spare_tile_;
    if (reused == state_tile_) tile_factor_ = -1;
    if (reused == kept_tile_) kept_factor_ = -1;
    last_input_ = nullptr;
    return std::exchange(reused, replacement);
  }

 private:
  A* record_input(A* tile) { return last_input_ = tile; }
  // Returns how many of `states` states to recompute from the kept state: as many as take no more
  // steps than reaching the kept state from the first one.
  static index_t count_recomputed_states(index_t states) {
    index_t count = 1;
    while ((count + 1) * (count + 2) / 2 <= states) ++count;
    return count;
  }

  mix_chain<T> const& chain_;
  tensor3<T const> const x_;
  tensor_stack<T const> const saved_states_;
  A *state_tile_, *spare_tile_, *kept_tile_, *last_input_ = nullptr;
  index_t kept_factor_ = -1, tile_factor_ = -1;  // factors whose inputs the tiles hold, or -1
};

SLICESORT_DETAIL_END
