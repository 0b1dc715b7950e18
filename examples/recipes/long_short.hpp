// SPDX-License-Identifier: Apache-2.0
// Long-short attention (Zhu et al., Long-Short Transformer, 2021, section 3): one softmax over the
// keys of a window and over `rank` keys that are projected from all rows. The projection is a
// softmax along the sequence of logits x w, so that it depends on the rows x.
#pragma once

#include "attend.hpp"
#include "support.hpp"

#include <slicesort/attention_tensors.hpp>
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
      : exec_(exec), memory_(exec), window_attention_(window) {}

  void forward(long_short_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.q.extents();
    memory_.clear();
    lengths_ = lengths.lengths;
    x_ = zero_padding(exec_, memory_, params.x, lengths);
    logits_ = tensor<T>({e.batch, e.heads, e.length, params.w.extents().channels});
    state_ = tensor<accumulator<T>>({e.batch, e.heads, e.length, 2});
    multiply(x_, params.w, logits_);
    keys_ = project(params.k);
    values_ = project(params.v);

    memory<Exec> parts(exec_);
    auto const long_part =
        attend<T>(exec_, parts, attention_, long_inputs(params), query_lengths());
    auto const short_part = attend<T>(exec_, parts, window_attention_,
                                      {params.q, params.k, params.v}, {lengths_, lengths_});
    ss::merge_attention{}.forward(
        exec_, {{long_part.y, long_part.state}, {short_part.y, short_part.state}}, y, state_);
  }

  // Both parts take the merged y and state. Of two calls that contribute to a gradient, the first
  // overwrites it.
  void backward(tensor4<T const> dy, long_short_params<T> const& params, tensor4<T const> y,
                long_short_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const accumulate = ss::grad_mode::accumulate;
    auto const dkeys = tensor<T>(keys_.y.extents()), dvalues = tensor<T>(values_.y.extents()),
               dlogits = tensor<T>(logits_.extents());
    auto const dbias = ss::transposed(dlogits);
    attention_.backward(exec_, dy, long_inputs(params), y, state_, {grads.dq, dkeys, dvalues},
                        memory_.workspace(), query_lengths());
    keys_.backward(exec_, memory_, dkeys, {{}, {}, grads.dk, dbias});
    values_.backward(exec_, memory_, dvalues, {{}, {}, grads.dv});
    values_.backward(exec_, memory_, dvalues, ss::grad_bias(dbias), accumulate);
    window_attention_.backward(exec_, dy, {params.q, params.k, params.v}, y, state_,
                               {grads.dq, grads.dk, grads.dv}, memory_.workspace(),
                               {accumulate, ss::key_and_query_lengths(lengths_, lengths_)});
    multiply(dlogits, ss::transposed(params.w), grads.dx);
    multiply(ss::transposed(x_), dlogits, grads.dw);
  }

 private:
  // Means of the rows, weighted by a softmax along the sequence: attention of `rank` queries
  // without channels, whose bias are the logits.
  attention_step<T> project(tensor4<T const> rows) {
    extents4 const e = logits_.extents();
    return attend<T>(exec_, memory_, attention_,
                     {{nullptr, {e.batch, e.heads, e.channels, 0}},
                      {nullptr, {e.batch, e.heads, e.length, 0}},
                      rows,
                      ss::transposed(logits_)},
                     lengths_);
  }
  ss::attention_inputs<T> long_inputs(long_short_params<T> const& params) const {
    return {params.q, keys_.y, values_.y};
  }
  // Lengths of the queries only: projected keys are valid.
  ss::key_and_query_lengths query_lengths() const {
    return {ss::tensor1<index_t const>{}, lengths_};
  }
  void multiply(tensor4<T const> a, tensor4<T const> b, tensor4<T> c) {
    ss::matmul<>{}.forward(exec_, a, b, c, memory_.workspace());
  }
  template <class U>
  tensor4<U> tensor(extents4 e) {
    return memory_.template tensor<U>(e);
  }

  Exec exec_;
  memory<Exec> memory_;
  ss::softmax_attention<> attention_;
  ss::softmax_attention<ss::mask::window> window_attention_;
  ss::tensor1<index_t const> lengths_;
  tensor4<T const> x_;               // with zeros past the lengths
  tensor4<T> logits_;                // x w, [batch, heads, length, rank]
  attention_step<T> keys_, values_;  // projected to `rank` rows
  tensor4<accumulator<T>> state_;
};

}  // namespace recipes
