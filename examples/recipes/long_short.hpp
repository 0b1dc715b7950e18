// SPDX-License-Identifier: Apache-2.0
// Long-short attention (Zhu et al., Long-Short Transformer, 2021, section 3): one softmax over the
// keys of a window and over `rank` keys that are projected from all rows. The projection is a
// softmax along the sequence of logits x w, so that it depends on the rows x.
#pragma once

#include "support.hpp"

#include <slicesort/matmul.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T>
struct long_short_params {
  tensor4<T const> q, k, v;
  tensor4<T const> x;  // [batch, 1, length, width], the rows that q, k and v are projections of
  tensor4<T const> w;  // [1, heads, width, rank]
};
template <class T>
struct long_short_grads {
  tensor4<T> dq, dk, dv, dx, dw;
};

template <class T, class Exec>
class long_short {
 public:
  explicit long_short(Exec const& exec, ss::mask::window window)
      : exec_(exec), memory_(exec), local_(window) {}

  void forward(long_short_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.q.extents();
    index_t const rank = params.w.extents().channels;
    memory_.clear();
    lengths_ = lengths.lengths;
    logits_ = tensor({e.batch, e.heads, e.length, rank});
    long_k_ = tensor({e.batch, e.heads, rank, e.channels});
    long_v_ = tensor({e.batch, e.heads, rank, y.extents().channels});
    projection_state_ = state_of(long_k_);
    x_ = zero_padding(exec_, memory_, params.x, lengths);
    multiply(x_, params.w, logits_);
    project(params.k, long_k_);
    project(params.v, long_v_);

    ss::attention_part<T> const parts[] = {
        part_of(attention_, {params.q, long_k_, long_v_}, y.extents(), query_lengths()),
        part_of(local_, {params.q, params.k, params.v}, y.extents(), {lengths_, lengths_})};
    state_ = state_of(y);
    ss::merge_attention{}.forward(exec_, {parts[0], parts[1]}, y, state_);
  }

  // Both parts take the merged y and state. Gradients that only one of two calls writes first are
  // overwritten by that call and accumulated by the other.
  void backward(tensor4<T const> dy, long_short_params<T> const& params, tensor4<T const> y,
                long_short_grads<T> const& grads) {
    ss::workspace const scratch = memory_.workspace();
    auto const dlong_k = tensor(long_k_.extents()), dlong_v = tensor(long_v_.extents()),
               dlogits = tensor(logits_.extents());
    auto const dbias = ss::transposed(dlogits);
    attention_.backward(exec_, dy, {params.q, long_k_, long_v_}, y, state_,
                        {grads.dq, dlong_k, dlong_v}, scratch, query_lengths());
    attention_.backward(exec_, dlong_k, projection(params.k), long_k_, projection_state_,
                        {{}, {}, grads.dk, dbias}, scratch, lengths_);
    attention_.backward(exec_, dlong_v, projection(params.v), long_v_, projection_state_,
                        {{}, {}, grads.dv}, scratch, lengths_);
    attention_.backward(exec_, dlong_v, projection(params.v), long_v_, projection_state_,
                        ss::grad_bias(dbias), scratch, {lengths_, ss::grad_mode::accumulate});
    local_.backward(exec_, dy, {params.q, params.k, params.v}, y, state_,
                    {grads.dq, grads.dk, grads.dv}, scratch,
                    {ss::key_and_query_lengths(lengths_, lengths_), ss::grad_mode::accumulate});
    multiply(dlogits, ss::transposed(params.w), grads.dx);
    multiply(ss::transposed(x_), dlogits, grads.dw);
  }

 private:
  // Attention of `rank` queries without channels: the logits are the bias.
  ss::attention_inputs<T> projection(tensor4<T const> rows) const {
    extents4 const e = logits_.extents();
    return {{nullptr, {e.batch, e.heads, e.channels, 0}},
            {nullptr, {e.batch, e.heads, e.length, 0}},
            rows,
            ss::transposed(logits_)};
  }
  // Projected keys have no lengths.
  ss::key_and_query_lengths query_lengths() const {
    return {ss::tensor1<index_t const>{}, lengths_};
  }
  void project(tensor4<T const> rows, tensor4<T> projected) {
    attention_.forward(exec_, projection(rows), projected, projection_state_, memory_.workspace(),
                       lengths_);
  }
  template <class Attention>
  ss::attention_part<T> part_of(Attention const& attention, ss::attention_inputs<T> const& inputs,
                                extents4 y, ss::key_and_query_lengths lengths) {
    auto const part = tensor(y);
    auto const state = state_of(part);
    attention.forward(exec_, inputs, part, state, memory_.workspace(), lengths);
    return {part, state};
  }
  void multiply(tensor4<T const> a, tensor4<T const> b, tensor4<T> c) {
    ss::matmul{}.forward(exec_, a, b, c, memory_.workspace());
  }
  tensor4<T> tensor(extents4 e) { return memory_.template tensor<T>(e); }
  tensor4<accumulator<T>> state_of(tensor4<T> y) {
    extents4 const e = y.extents();
    return memory_.template tensor<accumulator<T>>({e.batch, e.heads, e.length, 2});
  }

  Exec exec_;
  memory<Exec> memory_;
  ss::softmax_attention<> attention_;
  ss::softmax_attention<ss::mask::window> local_;
  ss::tensor1<index_t const> lengths_;
  tensor4<T const> x_;
  tensor4<T> logits_;           // x w, [batch, heads, length, rank]
  tensor4<T> long_k_, long_v_;  // projected keys and values, [batch, heads, rank, channels]
  tensor4<accumulator<T>> projection_state_, state_;
};

}  // namespace recipes
