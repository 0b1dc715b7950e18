// SPDX-License-Identifier: Apache-2.0
// Sinkformer attention (Sander et al., Sinkformers: Transformers with Doubly Stochastic Attention,
// 2022, section 3): y = sinkhorn(q k^T / sqrt(channels)) v. The map is normalized by an odd number
// of half-steps, rows last. One half-step is softmax attention.
#pragma once

#include "support.hpp"

#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/sinkhorn.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>

namespace recipes {

template <class T>
struct sinkformer_params {
  tensor4<T const> q, k, v;  // of the same length
};
template <class T>
struct sinkformer_grads {
  tensor4<T> dq, dk, dv;
};

template <class T, class Exec>
class sinkformer {
 public:
  explicit sinkformer(Exec const& exec, index_t half_steps = 3)
      : exec_(exec), memory_(exec), half_steps_(half_steps) {}

  void forward(sinkformer_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    memory_.clear();
    lengths_ = lengths;
    extents4 const e = params.q.extents();
    scores_ = memory_.template tensor<T>({e.batch, e.heads, e.length, e.length});
    map_ = memory_.template tensor<T>(scores_.extents());
    q_ = zero_padding(exec_, memory_, params.q, lengths);
    k_ = zero_padding(exec_, memory_, params.k, lengths);
    v_ = zero_padding(exec_, memory_, params.v, lengths);
    multiply(q_, ss::transposed(k_), scores_);
    for (index_t h = 0; h < e.heads; ++h)
      normalization(e).forward(exec_, head(scores_, h), head(map_, h), memory_.workspace(),
                               both_lengths());
    multiply(map_, v_, y);
  }

  void backward(tensor4<T const> dy, sinkformer_params<T> const&, tensor4<T const>,
                sinkformer_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const valid_dy = zero_padding(exec_, memory_, dy, lengths_);
    auto const dmap = memory_.template tensor<T>(map_.extents());
    multiply(valid_dy, ss::transposed(v_), dmap);
    for (index_t h = 0; h < q_.extents().heads; ++h)
      normalization(q_.extents())
          .backward(exec_, head(dmap, h), head(scores_, h), head(dmap, h), memory_.workspace(),
                    both_lengths());
    auto const dscores = dmap;
    multiply(dscores, k_, grads.dq);
    multiply(ss::transposed(dscores), q_, grads.dk);
    multiply(ss::transposed(map_), valid_dy, grads.dv);
  }

 private:
  ss::sinkhorn normalization(extents4 q) const {
    double const scale = q.channels > 0 ? std::sqrt(static_cast<double>(q.channels)) : 1;
    return ss::sinkhorn{scale, ss::half_steps{half_steps_, ss::side::rows}};
  }
  ss::row_and_column_lengths both_lengths() const { return {lengths_, lengths_}; }
  void multiply(tensor4<T const> a, tensor4<T const> b, tensor4<T> c) {
    ss::matmul{}.forward(exec_, a, b, c, memory_.workspace());
  }

  Exec exec_;
  memory<Exec> memory_;
  index_t half_steps_;
  ss::row_lengths lengths_;
  tensor4<T const> q_, k_, v_;  // with zeros past the lengths
  tensor4<T> scores_, map_;     // [batch, heads, length, length]
};

}  // namespace recipes
