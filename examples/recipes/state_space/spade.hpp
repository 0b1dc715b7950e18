// SPDX-License-Identifier: Apache-2.0
// The layer of SPADE (Zuo et al., Efficient Long Sequence Modeling via State Space Augmented
// Transformer, 2022): attention within a window, beside a state space that sees all rows.
//   y = [norm(window_attention(q, k, v)), norm(state_space(x))]
// y has the channels of all heads, followed by those of x. The projection that joins them is the
// caller's.
#pragma once

#include "../attend.hpp"
#include "../row_norm.hpp"
#include "../support.hpp"
#include "s4d.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T, class StateSpace>
struct spade_params {
  tensor4<T const> q, k, v;                        // [batch, heads, length, channels]
  typename StateSpace::params_type state_space;    // x: [batch, 1, length, width]
  row_norm_params<T> local_norm{}, global_norm{};  // of both parts; empty: none
};
template <class T, class StateSpace>
struct spade_grads {
  tensor4<T> dq, dk, dv;
  typename StateSpace::grads_type dstate_space;
  row_norm_grads<T> dlocal_norm{}, dglobal_norm{};
};

template <class T, class Exec, class StateSpace = s4d<T, Exec>>
class spade {
 public:
  using params_type = spade_params<T, StateSpace>;
  using grads_type = spade_grads<T, StateSpace>;

  explicit spade(Exec const& exec, ss::mask::window window, double norm_epsilon = 1e-5)
      : exec_(exec),
        memory_(exec),
        attention_(window),
        state_space_(exec),
        norm_epsilon_(norm_epsilon) {}

  // y: [batch, 1, length, heads * values + width]
  void forward(params_type const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    memory_.clear();
    lengths_ = lengths;
    step_ = attend<T>(exec_, memory_, attention_, {params.q, params.k, params.v},
                      {lengths.lengths, lengths.lengths});
    global_ = memory_.template tensor<T>(params.state_space.x.extents());
    state_space_.forward(params.state_space, global_, lengths);
    local_norm_ = norm(params.local_norm, step_.y);
    global_norm_ = norm(params.global_norm, global_);
    copy(exec_, local_norm_.y, local_part(y), 1, lengths);
    copy(exec_, global_norm_.y, global_part(y), 1, lengths);
  }

  void backward(tensor4<T const> dy, params_type const& params, tensor4<T const>,
                grads_type const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    auto const dlocal = memory_.template tensor<T>(step_.y.extents()),
               dglobal = memory_.template tensor<T>(global_.extents());
    copy(exec_, local_part(dy), dlocal, 1, lengths_);
    copy(exec_, global_part(dy), dglobal, 1, lengths_);
    local_norm_.backward(exec_, dlocal, grads.dlocal_norm);
    global_norm_.backward(exec_, dglobal, grads.dglobal_norm);
    step_.backward(exec_, memory_, dlocal, {grads.dq, grads.dk, grads.dv});
    state_space_.backward(dglobal, params.state_space, global_, grads.dstate_space);
  }

 private:
  row_norm_step<T> norm(row_norm_params<T> const& params, tensor4<T const> rows) {
    return normalize(exec_, memory_, params, rows, lengths_, norm_epsilon_);
  }
  template <class U>
  tensor4<U> local_part(tensor4<U> y) const {
    ss::strides4 const s = y.strides();
    extents4 const e = step_.y.extents();
    return {y.data(), e, {s.batch, e.channels * s.channels, s.length, s.channels}};
  }
  template <class U>
  tensor4<U> global_part(tensor4<U> y) const {
    extents4 const e = step_.y.extents();
    return {y.data() + e.heads * e.channels * y.strides().channels, global_.extents(), y.strides()};
  }

  Exec exec_;
  memory<Exec> memory_;
  ss::softmax_attention<ss::mask::window> attention_;
  StateSpace state_space_;
  double norm_epsilon_;
  ss::row_lengths lengths_;
  attention_step<T, ss::mask::window> step_;
  tensor4<T> global_;  // the state space's output
  row_norm_step<T> local_norm_, global_norm_;
};

}  // namespace recipes
