// SPDX-License-Identifier: Apache-2.0
// Nystromformer (Xiong et al., Nystromformer, 2021), with landmarks qm and km, the means of
// segments of queries and keys:
//   y = softmax(scale * q km^T) pinv(softmax(scale * qm km^T)) softmax(scale * qm k^T) v + conv(v)
// For 16-bit types, matrices of pairs of landmarks are computed in float.
#pragma once

#include "attend.hpp"
#include "pseudo_inverse.hpp"
#include "segment_means.hpp"
#include "support.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/short_convolution.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>

namespace recipes {

template <class T>
struct nystromformer_params {
  tensor4<T const> q, k, v;
  tensor4<T const> filters;  // [1, heads, 1, taps], centered on the row
};
template <class T>
struct nystromformer_grads {
  tensor4<T> dq, dk, dv, dfilters;
};

template <class T, class Exec>
class nystromformer {
  using A = accumulator<T>;

 public:
  nystromformer(Exec const& exec, index_t landmarks, std::size_t newton_steps = 6)
      : exec_(exec), count_(landmarks), memory_(exec), inverse_(exec, newton_steps) {}

  void forward(nystromformer_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.q.extents();
    ss::softmax_attention<> const attention;
    memory_.clear();
    lengths_ = lengths;
    auto const landmarks = segment_counts(exec_, memory_, e, count_, lengths);
    q_mean_ = segment_means(exec_, memory_, params.q, count_, lengths);
    k_mean_ = segment_means(exec_, memory_, params.k, count_, lengths);
    // The map itself is attention with the identity as values.
    auto const identity = tensor<A>({1, 1, count_, count_});
    fill_identity(exec_, identity);
    map_ = attend<A>(exec_, memory_, attention,
                     {copy_as<A>(q_mean_.y),
                      copy_as<A>(k_mean_.y),
                      {identity.data(), {e.batch, e.heads, count_, count_}, {0, 0, count_, 1}}},
                     {landmarks, landmarks});
    context_ = attend<T>(exec_, memory_, attention, {q_mean_.y, params.k, params.v}, lengths);
    wide_context_ = copy_as<A>(context_.y);
    inverse_map_ = inverse_.forward(map_.y);
    auto const values = tensor<A>(context_.y.extents());
    multiply(inverse_map_, wide_context_, values);
    output_ = attend<T>(exec_, memory_, attention, {params.q, k_mean_.y, copy_as<T>(values)},
                        {landmarks, lengths.lengths});

    auto const convolution = ss::short_convolution::centered(params.filters.extents().channels);
    for (index_t h = 0; h < e.heads; ++h)
      convolution.forward(exec_, head(params.v, h), filter(params.filters, h), head(y, h),
                          memory_.workspace(), lengths);
    add(exec_, output_.y, y);
  }

  // The first call for a gradient overwrites it, the others accumulate.
  void backward(tensor4<T const> dy, nystromformer_params<T> const& params, tensor4<T const>,
                nystromformer_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const accumulate = ss::grad_mode::accumulate;
    auto const convolution = ss::short_convolution::centered(params.filters.extents().channels);
    for (index_t h = 0; h < dy.extents().heads; ++h)
      convolution.backward(exec_, head(dy, h), head(params.v, h), filter(params.filters, h),
                           head(grads.dv, h), filter(grads.dfilters, h), memory_.workspace(),
                           lengths_);
    auto const dk_mean = tensor<T>(k_mean_.y.extents()), dvalues = tensor<T>(context_.y.extents());
    output_.backward(exec_, memory_, dy, {grads.dq, dk_mean, dvalues});

    // values = inverse_map * context
    auto const wide_dvalues = copy_as<A>(dvalues), dcontext = tensor<A>(dvalues.extents()),
               dinverse = tensor<A>(map_.y.extents()), dmap = tensor<A>(map_.y.extents());
    multiply(ss::transposed(inverse_map_), wide_dvalues, dcontext);
    multiply(wide_dvalues, ss::transposed(wide_context_), dinverse);
    inverse_.backward(dinverse, map_.y, dmap);
    auto const dq_map = tensor<A>(dk_mean.extents()), dk_map = tensor<A>(dk_mean.extents());
    map_.backward(exec_, memory_, dmap, {dq_map, dk_map});

    add(exec_, dk_map, dk_mean);
    k_mean_.backward(exec_, memory_, dk_mean, {{}, {}, grads.dk});
    auto const dq_mean = copy_as<T>(dq_map);
    context_.backward(exec_, memory_, copy_as<T>(dcontext), {dq_mean, grads.dk, grads.dv},
                      accumulate);
    q_mean_.backward(exec_, memory_, dq_mean, {{}, {}, grads.dq}, accumulate);
  }

 private:
  void multiply(tensor4<A const> a, tensor4<A const> b, tensor4<A> c) {
    ss::matmul<>().forward(exec_, a, b, c, memory_.workspace());
  }
  template <class U>
  tensor4<U> tensor(extents4 e) {
    return memory_.template tensor<U>(e);
  }
  template <class U, class V>
  tensor4<U> copy_as(tensor4<V> x) {
    return convert<U>(exec_, memory_, x);
  }
  template <class U>
  static tensor3<U> filter(tensor4<U> filters, index_t h) {
    return {&filters(0, h, 0, 0),
            {1, filters.extents().channels, 1},
            {0, filters.strides().channels, 0}};
  }

  Exec exec_;
  index_t count_;
  memory<Exec> memory_;
  pseudo_inverse<A, Exec> inverse_;
  ss::row_lengths lengths_;
  attention_step<T, segments> q_mean_, k_mean_;
  attention_step<T> context_, output_;
  attention_step<A> map_;
  tensor4<A const> inverse_map_, wide_context_;
};

}  // namespace recipes
