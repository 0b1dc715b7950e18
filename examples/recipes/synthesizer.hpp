// SPDX-License-Identifier: Apache-2.0
// Synthesizer attention (Tay et al., Synthesizer: Rethinking Self-Attention, 2020):
// y = softmax(scale * q k^T + map) v, or, without q and k, y = softmax(map) v. In the random form,
// the map is a parameter; synthesizer_maps.hpp computes those of the factorized and dense forms.
#pragma once

#include "support.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/options.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T>
struct synthesizer_params {
  tensor4<T const> q, k;  // empty: the weights depend on the map alone
  tensor4<T const> v;
  tensor4<T const> map;  // [batch or 1, heads or 1, length, length]
};
template <class T>
struct synthesizer_grads {
  tensor4<T> dq, dk, dv, dmap;
};

template <class T, class Exec>
class synthesizer {
 public:
  using params_type = synthesizer_params<T>;
  using grads_type = synthesizer_grads<T>;

  explicit synthesizer(Exec const& exec) : exec_(exec), memory_(exec) {}

  void forward(synthesizer_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    memory_.clear();
    auto const inputs = inputs_of(params);
    options_ = {lengths.lengths, lengths.lengths};
    state_ = memory_.template tensor<accumulator<T>>(
        attention_.saved_extents(inputs.q.extents(), inputs.v.extents()));
    attention_.forward(exec_, inputs, y, state_, memory_.workspace(), options_);
  }

  void backward(tensor4<T const> dy, synthesizer_params<T> const& params, tensor4<T const> y,
                synthesizer_grads<T> const& grads) {
    attention_.backward(exec_, dy, inputs_of(params), y, state_,
                        {grads.dq, grads.dk, grads.dv, grads.dmap}, memory_.workspace(), options_);
  }

 private:
  static ss::attention_inputs<T> inputs_of(synthesizer_params<T> const& params) {
    if (params.q.data() != nullptr) return {params.q, params.k, params.v, params.map};
    extents4 const e = params.v.extents();
    tensor4<T const> const no_channels(nullptr, {e.batch, e.heads, e.length, 0});
    return {no_channels, no_channels, params.v, params.map};
  }

  Exec exec_;
  memory<Exec> memory_;
  ss::softmax_attention<> attention_;
  ss::key_and_query_lengths options_;
  tensor4<accumulator<T>> state_;
};

}  // namespace recipes
