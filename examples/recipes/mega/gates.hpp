// SPDX-License-Identifier: Apache-2.0
// The gates of MEGA (Ma et al., Mega: Moving Average Equipped Gated Attention, 2022): SiLU, the
// gate of the attention's output, and the update gate of the layer.
#pragma once

#include "../state_space/activations.hpp"
#include "../support.hpp"

#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

// SiLU(x) in the valid rows, and zeros in the others. y may be longer than x.
template <class T>
struct write_silu {
  tensor4<T const> x;
  ss::row_lengths rows;
  tensor4<T> y;

  RECIPES_HD void operator()(position const& p) const {
    bool const is_row = p.row < x.extents().length && is_valid(rows, p);
    element(y, p) = rounded<T>(is_row ? silu(to_double(element(x, p))) : 0);
  }
};
// dx = d SiLU'(x), with zeros past the lengths.
template <class T>
struct write_silu_gradient {
  tensor4<T const> x, d;
  ss::row_lengths rows;
  tensor4<T> dx;

  RECIPES_HD void operator()(position const& p) const {
    element(dx, p) = rounded<T>(
        is_valid(rows, p) ? to_double(element(d, p)) * silu_slope(to_double(element(x, p))) : 0);
  }
};

// y = h SiLU(r), and its gradients. h may be longer than r and y.
template <class T>
struct write_gated {
  tensor4<T const> h, r;
  ss::row_lengths rows;
  tensor4<T> y;

  RECIPES_HD void operator()(position const& p) const {
    double const value =
        is_valid(rows, p) ? to_double(element(h, p)) * silu(to_double(element(r, p))) : 0;
    element(y, p) = rounded<T>(value);
  }
};
template <class T>
struct write_gated_gradients {
  tensor4<T const> h, r;
  ss::row_lengths rows;
  tensor4<T const> dy;
  tensor4<T> dh, dr;

  RECIPES_HD void operator()(position const& p) const {
    bool const is_row = p.row < r.extents().length;
    double const gate = is_row && is_valid(rows, p) ? to_double(element(r, p)) : 0,
                 d = is_row && is_valid(rows, p) ? to_double(element(dy, p)) : 0;
    element(dh, p) = rounded<T>(d * silu(gate));
    if (is_row) element(dr, p) = rounded<T>(d * to_double(element(h, p)) * silu_slope(gate));
  }
};

// The layer's output: y = x + sigmoid(u) (SiLU(candidate) - x).
template <class T>
struct update_gate_params {
  tensor4<T const> u, candidate, x;  // [batch, 1, length, channels]
};
template <class T>
struct update_gate_grads {
  tensor4<T> du, dcandidate, dx;
};
template <class T>
struct write_update {
  update_gate_params<T> params;
  ss::row_lengths rows;
  tensor4<T> y;

  RECIPES_HD void operator()(position const& p) const {
    double value = 0;
    if (is_valid(rows, p)) {
      double const x = to_double(element(params.x, p));
      value = x + sigmoid(to_double(element(params.u, p))) *
                      (silu(to_double(element(params.candidate, p))) - x);
    }
    element(y, p) = rounded<T>(value);
  }
};
template <class T>
struct write_update_gradients {
  update_gate_params<T> params;
  ss::row_lengths rows;
  tensor4<T const> dy;
  update_gate_grads<T> grads;

  RECIPES_HD void operator()(position const& p) const {
    double du = 0, dcandidate = 0, dx = 0;
    if (is_valid(rows, p)) {
      double const d = to_double(element(dy, p)),
                   candidate = to_double(element(params.candidate, p)),
                   share = sigmoid(to_double(element(params.u, p)));
      du = d * (silu(candidate) - to_double(element(params.x, p))) * share * (1 - share);
      dcandidate = d * share * silu_slope(candidate);
      dx = d * (1 - share);
    }
    element(grads.du, p) = rounded<T>(du);
    element(grads.dcandidate, p) = rounded<T>(dcandidate);
    element(grads.dx, p) = rounded<T>(dx);
  }
};
template <class T, class Exec>
class update_gate {
 public:
  using params_type = update_gate_params<T>;
  using grads_type = update_gate_grads<T>;

  explicit update_gate(Exec const& exec) : exec_(exec) {}

  void forward(update_gate_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    lengths_ = lengths;
    for_each_position(exec_, params.x.extents(), write_update<T>{params, lengths, y});
  }
  void backward(tensor4<T const> dy, update_gate_params<T> const& params, tensor4<T const>,
                update_gate_grads<T> const& grads) {
    for_each_position(exec_, params.x.extents(),
                      write_update_gradients<T>{params, lengths_, dy, grads});
  }

 private:
  Exec exec_;
  ss::row_lengths lengths_;
};

}  // namespace recipes
