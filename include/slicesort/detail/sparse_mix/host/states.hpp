// SPDX-License-Identifier: Apache-2.0
// The inputs of sparse_mix's factors, from the last to the first: read where they are saved,
// recomputed where they are not.
#pragma once

#include <slicesort/detail/sparse_mix/host/chain.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <utility>

SLICESORT_DETAIL_BEGIN

// Applies factor f forward, from one tile to another and, as mix_chain::mix does, to a tensor.
template <class T, class A>
void mix_forward(mix_chain<T> const& chain, tensor3<T const> x, index_t f, A const* from, A* to,
                 tensor3<T> const* stream = nullptr, bool last = false) {
  residual_form const residual = chain.call().config.residual;
  if (residual == residual_form::initial && f > 0) chain.load(x, to);
  A const* const start = residual == residual_form::none                   ? nullptr
                         : residual == residual_form::per_factor || f == 0 ? from
                                                                           : to;
  chain.mix(mix_direction::forward, f, start, from, to, true, stream, last);
}

// If there is memory for it, one of the states that are not saved is kept while others are
// recomputed: a chain of 12 factors is then recomputed in 29 steps instead of 66. If all states are
// saved, every other one is read and the next one is recomputed from it: a tile's rows lie on many
// pages of a tensor, so reading them takes longer than a factor.
template <class T>
class mix_states {
 public:
  using A = accumulator_t<T>;

  // The tiles are memory for states; `kept` may be null.
  mix_states(mix_chain<T> const& chain, tensor3<T const> x, tensor_stack<T const> saved, A* tile,
             A* spare, A* kept)
      : chain_(chain), x_(x), saved_(saved), tile_(tile), spare_(spare), kept_(kept) {}

  // The input of a factor. Its tile is valid until the next call.
  A* input_of(index_t factor) {
    if (factor == tile_factor_) return handed_out(tile_);
    tile_factor_ = -1;
    index_t const saved = chain_.call().config.every,
                  every = saved == 1 && kept_ != nullptr ? 2 : saved;
    index_t at = every > 0 ? factor / every * every : 0;
    A* v = tile_;
    index_t keep = -1;
    if (at < kept_factor_ && kept_factor_ <= factor) {
      at = kept_factor_;
      v = kept_;
    } else {
      chain_.load(at == 0 ? x_ : saved_[at / saved - 1], v);
      tile_factor_ = at;
      if (kept_ != nullptr) keep = factor - steps_left(factor - at + 1) + 1;
      kept_factor_ = -1;
    }
    while (at < factor) {
      A* const to = at + 1 == keep ? kept_ : v == tile_ ? spare_ : tile_;
      if (to == tile_) tile_factor_ = -1;
      mix_forward(chain_, x_, at, v, to);
      if (++at == keep) kept_factor_ = keep;
      v = to;
    }
    if (v == spare_) {
      std::swap(spare_, tile_);
      tile_factor_ = -1;
      v = tile_;
    }
    return handed_out(v);
  }

  // Hands out the tile of the last input, which is in cache and needed no longer, or one that holds
  // no state if there was none, for another one, whose numbers may be overwritten from the next
  // call of input_of on.
  A* exchange(A* other) {
    A*& used = last_ == tile_ ? tile_ : last_ == kept_ && kept_ != nullptr ? kept_ : spare_;
    if (used == tile_) tile_factor_ = -1;
    if (used == kept_) kept_factor_ = -1;
    last_ = nullptr;
    return std::exchange(used, other);
  }

 private:
  A* handed_out(A* tile) { return last_ = tile; }
  // How many of `states` states are best recomputed from the kept one (itself included): as many as
  // take no more steps than starting from the first.
  static index_t steps_left(index_t states) {
    index_t count = 1;
    while ((count + 1) * (count + 2) / 2 <= states) ++count;
    return count;
  }

  mix_chain<T> const& chain_;
  tensor3<T const> const x_;
  tensor_stack<T const> const saved_;
  A *tile_, *spare_, *kept_, *last_ = nullptr;
  index_t kept_factor_ = -1, tile_factor_ = -1;  // whose inputs they hold
};

SLICESORT_DETAIL_END
