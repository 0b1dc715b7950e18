// SPDX-License-Identifier: Apache-2.0
// Nystromformer (Xiong et al., Nystromformer, 2021, eq. 13 and section 3.4), with landmarks qm and
// km, the means of segments of queries and keys:
//   y = softmax(scale * q km^T) pinv(softmax(scale * qm km^T)) softmax(scale * qm k^T) v + conv(v)
// For 16-bit types, matrices of pairs of landmarks are computed in float.
#pragma once

#include "attend.hpp"
#include "pseudo_inverse.hpp"
#include "support.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/short_convolution.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

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

// Mask for the means of `count` segments: without scores, attention is the mean of the values in
// the range. With fewer than `count` keys, each key is a segment, and the other means are zeros.
struct segments {
  index_t count;

  RECIPES_HD ss::key_range range(index_t t, index_t keys) const {
    if (keys < count) return {t, t < keys ? t + 1 : t};
    return {t * keys / count, (t + 1) * keys / count};
  }
};
// Number of landmarks of each sample.
struct count_landmarks {
  ss::tensor1<index_t const> lengths;
  index_t length, count;
  index_t* landmarks;

  RECIPES_HD void operator()(index_t b) const {
    index_t const rows = lengths.data() == nullptr ? length : lengths(b);
    landmarks[b] = rows < count ? rows : count;
  }
};

template <class T, class Exec>
class nystromformer {
  using A = accumulator<T>;

 public:
  nystromformer(Exec const& exec, index_t landmarks, int newton_steps = 6)
      : exec_(exec), count_(landmarks), memory_(exec), inverse_(exec, newton_steps) {}

  void forward(nystromformer_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.q.extents();
    ss::softmax_attention<> const attention;
    memory_.clear();
    lengths_ = lengths;
    index_t* const counts = memory_.template tensor<index_t>({1, 1, 1, e.batch}).data();
    for_each_index(exec_, e.batch, count_landmarks{lengths.lengths, e.length, count_, counts});
    ss::tensor1<index_t const> const landmarks(counts, e.batch);

    q_mean_ = means(params.q);
    k_mean_ = means(params.k);
    // The map itself is attention with the identity as values.
    auto const identity = memory_.template tensor<A>({1, 1, count_, count_});
    fill_identity(exec_, identity);
    map_ = attend<A>(exec_, memory_, attention,
                     {convert<A>(exec_, memory_, q_mean_.y),
                      convert<A>(exec_, memory_, k_mean_.y),
                      {identity.data(), {e.batch, e.heads, count_, count_}, {0, 0, count_, 1}}},
                     {landmarks, landmarks});
    context_ = attend<T>(exec_, memory_, attention, {q_mean_.y, params.k, params.v}, lengths);
    wide_context_ = convert<A>(exec_, memory_, context_.y);
    auto const values = memory_.template tensor<A>(context_.y.extents());
    inverse_map_ = inverse_.forward(map_.y);
    product_.forward(exec_, inverse_map_, wide_context_, values, memory_.workspace());
    output_ = attend<T>(exec_, memory_, attention,
                        {params.q, k_mean_.y, convert<T>(exec_, memory_, values)},
                        {landmarks, lengths.lengths});

    auto const convolution = ss::short_convolution::centered(params.filters.extents().channels);
    for (index_t h = 0; h < e.heads; ++h)
      convolution.forward(exec_, head(params.v, h), filter(params.filters, h), head(y, h),
                          memory_.workspace(), lengths);
    add(exec_, output_.y, y);
  }

  void backward(tensor4<T const> dy, nystromformer_params<T> const& params, tensor4<T const>,
                nystromformer_grads<T> const& grads) {
    // The first call for a gradient overwrites it, the others accumulate.
    auto const accumulate = ss::grad_mode::accumulate;
    auto const convolution = ss::short_convolution::centered(params.filters.extents().channels);
    for (index_t h = 0; h < dy.extents().heads; ++h)
      convolution.backward(exec_, head(dy, h), head(params.v, h), filter(params.filters, h),
                           head(grads.dv, h), filter(grads.dfilters, h), memory_.workspace(),
                           lengths_);
    auto const dk_mean = memory_.template tensor<T>(k_mean_.y.extents()),
               dvalues = memory_.template tensor<T>(context_.y.extents());
    output_.backward(exec_, memory_, dy, {grads.dq, dk_mean, dvalues});

    // values = inverse_map * context
    auto const wide_dvalues = convert<A>(exec_, memory_, dvalues),
               dinverse = memory_.template tensor<A>(map_.y.extents()),
               dmap = memory_.template tensor<A>(map_.y.extents()),
               dcontext = memory_.template tensor<A>(dvalues.extents()),
               dq_map = memory_.template tensor<A>(q_mean_.y.extents()),
               dk_map = memory_.template tensor<A>(k_mean_.y.extents());
    product_.forward(exec_, wide_dvalues, ss::transposed(wide_context_), dinverse,
                     memory_.workspace());
    product_.forward(exec_, ss::transposed(inverse_map_), wide_dvalues, dcontext,
                     memory_.workspace());
    inverse_.backward(dinverse, map_.y, dmap);
    map_.backward(exec_, memory_, dmap, {dq_map, dk_map});

    add(exec_, dk_map, dk_mean);
    k_mean_.backward(exec_, memory_, dk_mean, {{}, {}, grads.dk});
    auto const dq_mean = convert<T>(exec_, memory_, dq_map);
    context_.backward(exec_, memory_, convert<T>(exec_, memory_, dcontext),
                      {dq_mean, grads.dk, grads.dv}, accumulate);
    q_mean_.backward(exec_, memory_, dq_mean, {{}, {}, grads.dq}, accumulate);
  }

 private:
  attention_step<T, segments> means(tensor4<T const> x) {
    extents4 const e = x.extents();
    tensor4<T const> const q(nullptr, {e.batch, e.heads, count_, 0}),
        k(nullptr, {e.batch, e.heads, e.length, 0});
    return attend<T>(exec_, memory_, ss::softmax_attention(segments{count_}), {q, k, x}, lengths_);
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
  ss::matmul<> product_;
  ss::row_lengths lengths_;
  attention_step<T, segments> q_mean_, k_mean_;
  attention_step<T> context_, output_;
  attention_step<A> map_;
  tensor4<A const> inverse_map_, wide_context_;
};

}  // namespace recipes
