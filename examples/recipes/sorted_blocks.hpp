// SPDX-License-Identifier: Apache-2.0
// The layer of the Sinkhorn Transformer: its sorting network and its attention.
#pragma once

#include "sinkhorn_transformer.hpp"
#include "sort_net.hpp"
#include "support.hpp"

#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T>
struct sorted_blocks_params {
  tensor4<T const> q, k, v;
  tensor4<T const> w;  // of the sorting network, [1, heads or 1, channels, columns]
};
template <class T>
struct sorted_blocks_grads {
  tensor4<T> dq, dk, dv, dw;
};

template <class T, class Exec>
class sorted_blocks {
 public:
  using params_type = sorted_blocks_params<T>;
  using grads_type = sorted_blocks_grads<T>;

  sorted_blocks(Exec const& exec, index_t block)
      : exec_(exec), memory_(exec), block_(block), net_(exec, block), attention_(exec, block) {}

  void forward(sorted_blocks_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.k.extents();
    index_t const blocks = (e.length + block_ - 1) / block_;
    memory_.clear();
    logits_ = memory_.template tensor<T>({e.batch, e.heads, blocks, blocks});
    net_.forward({params.k, params.w}, logits_, lengths);
    attention_.forward({params.q, params.k, params.v, logits_}, y, lengths);
  }
  void backward(tensor4<T const> dy, sorted_blocks_params<T> const& params, tensor4<T const> y,
                sorted_blocks_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const dlogits = memory_.template tensor<T>(logits_.extents()),
               dk = memory_.template tensor<T>(params.k.extents());
    attention_.backward(dy, {params.q, params.k, params.v, logits_}, y,
                        {grads.dq, grads.dk, grads.dv, dlogits});
    net_.backward(dlogits, {params.k, params.w}, {dk, grads.dw});
    add(exec_, dk, grads.dk);
  }

 private:
  Exec exec_;
  memory<Exec> memory_;
  index_t block_;
  sort_net<T, Exec> net_;
  sinkhorn_transformer<T, Exec> attention_;
  tensor4<T> logits_;
};

}  // namespace recipes
