// SPDX-License-Identifier: Apache-2.0
// Linformer (Wang et al., Linformer: Self-Attention with Linear Complexity, 2020):
// y = softmax(scale * q (E k)^T) (F v), where E and F are learned and have a few rows.
#pragma once

#include "support.hpp"

#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T>
struct linformer_params {
  tensor4<T const> q, k, v;
  // Projections [batch or 1, heads or 1, rank, columns], made for the longest sequence: the first
  // `length` columns are read. Empty f: e projects both keys and values.
  tensor4<T const> e, f;
};
template <class T>
struct linformer_grads {
  tensor4<T> dq, dk, dv;
  tensor4<T> de, df;  // zeros in columns that were not read; empty df if f is empty
};

template <class T, class Exec>
class linformer {
 public:
  explicit linformer(Exec const& exec) : exec_(exec), memory_(exec) {}

  void forward(linformer_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    memory_.clear();
    lengths_ = lengths;
    k_ = zero_padding(exec_, memory_, params.k, lengths);
    v_ = zero_padding(exec_, memory_, params.v, lengths);
    keys_ = project(params.e, k_);
    values_ = project(params.f.data() == nullptr ? params.e : params.f, v_);
    state_ = memory_.template tensor<accumulator<T>>(
        attention_.saved_extents(params.q.extents(), values_.extents()));
    attention_.forward(exec_, {params.q, keys_, values_}, y, state_, memory_.workspace(),
                       query_lengths());
  }

  void backward(tensor4<T const> dy, linformer_params<T> const& params, tensor4<T const> y,
                linformer_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    bool const is_shared = params.f.data() == nullptr;
    auto const dkeys = memory_.template tensor<T>(keys_.extents()),
               dvalues = memory_.template tensor<T>(values_.extents());
    attention_.backward(exec_, dy, {params.q, keys_, values_}, y, state_,
                        {grads.dq, dkeys, dvalues}, memory_.workspace(), query_lengths());
    fill(exec_, grads.de, 0);
    if (!is_shared) fill(exec_, grads.df, 0);
    project_backward(dkeys, params.e, k_, grads.dk, grads.de);
    project_backward(dvalues, is_shared ? params.e : params.f, v_, grads.dv,
                     is_shared ? grads.de : grads.df);
  }

 private:
  // Returns w x.
  tensor4<T> project(tensor4<T const> w, tensor4<T const> x) {
    extents4 const e = x.extents();
    auto const y = memory_.template tensor<T>({e.batch, e.heads, w.extents().length, e.channels});
    product_.forward(exec_, columns(w, e.length), x, y, memory_.workspace());
    return y;
  }
  // dx = w^T dy, dw += dy x^T
  void project_backward(tensor4<T const> dy, tensor4<T const> w, tensor4<T const> x, tensor4<T> dx,
                        tensor4<T> dw) {
    index_t const length = x.extents().length;
    product_.forward(exec_, ss::transposed(columns(w, length)), dy, dx, memory_.workspace());
    if (lengths_.lengths.data() != nullptr) copy(exec_, dx, dx, 1, lengths_);
    product_.forward(exec_, dy, ss::transposed(x), columns(dw, length), memory_.workspace(),
                     ss::grad_mode::accumulate);
  }
  ss::key_and_query_lengths query_lengths() const {
    ss::key_and_query_lengths options;
    options.query_lengths = lengths_.lengths;
    return options;
  }

  Exec exec_;
  memory<Exec> memory_;
  ss::softmax_attention<> attention_;
  ss::matmul<> product_;
  ss::row_lengths lengths_;
  tensor4<T const> k_, v_;
  tensor4<T> keys_, values_;
  tensor4<accumulator<T>> state_;
};

}  // namespace recipes
