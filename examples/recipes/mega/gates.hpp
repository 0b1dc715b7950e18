// SPDX-License-Identifier: Apache-2.0
// The gates of MEGA (Ma et al., Mega: Moving Average Equipped Gated Attention, 2022): SiLU, the
// gate of the attention's output, and the update gate of the layer.
#pragma once

#include "../state_space/activations.hpp"
#include "../support.hpp"

#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

// An element of a valid row; 0 past the lengths, or past the rows of x.
template <class T>
RECIPES_HD inline double load_row(tensor4<T const> const& x, ss::row_lengths const& rows,
                                  position const& p) {
  return p.row < x.extents().length && is_valid(rows, p) ? to_double(element(x, p)) : 0;
}

// SiLU(x) in the valid rows, and zeros in the others. y may be longer than x.
template <class T>
struct write_silu {
  tensor4<T const> x;
  ss::row_lengths rows;
  tensor4<T> y;

  static constexpr int gates = 1;
  RECIPES_HD double argument(position const& p, int) const { return load_row(x, rows, p); }
  RECIPES_HD void operator()(position const& p, gate const* x_gate) const {
    element(y, p) = rounded<T>(x_gate->silu());
  }
};
// dx = d SiLU'(x), with zeros past the lengths.
template <class T>
struct write_silu_gradient {
  tensor4<T const> x, d;
  ss::row_lengths rows;
  tensor4<T> dx;

  static constexpr int gates = 1;
  RECIPES_HD double argument(position const& p, int) const { return load_row(x, rows, p); }
  RECIPES_HD void operator()(position const& p, gate const* x_gate) const {
    element(dx, p) = rounded<T>(load_row(d, rows, p) * x_gate->silu_slope());
  }
};

// y = h SiLU(r), and its gradients. h may be longer than r and y.
template <class T>
struct write_gated {
  tensor4<T const> h, r;
  ss::row_lengths rows;
  tensor4<T> y;

  static constexpr int gates = 1;
  RECIPES_HD double argument(position const& p, int) const { return load_row(r, rows, p); }
  RECIPES_HD void operator()(position const& p, gate const* r_gate) const {
    element(y, p) = rounded<T>(load_row(h, rows, p) * r_gate->silu());
  }
};
template <class T>
struct write_gated_gradients {
  tensor4<T const> h, r;
  ss::row_lengths rows;
  tensor4<T const> dy;
  tensor4<T> dh, dr;

  static constexpr int gates = 1;
  RECIPES_HD double argument(position const& p, int) const { return load_row(r, rows, p); }
  RECIPES_HD void operator()(position const& p, gate const* r_gate) const {
    double const d = load_row(dy, rows, p);
    element(dh, p) = rounded<T>(d * r_gate->silu());
    if (p.row < r.extents().length)
      element(dr, p) = rounded<T>(d * to_double(element(h, p)) * r_gate->silu_slope());
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

  static constexpr int gates = 2;
  RECIPES_HD double argument(position const& p, int i) const {
    return load_row(i == 0 ? params.u : params.candidate, rows, p);
  }
  RECIPES_HD void operator()(position const& p, gate const* both) const {
    double const x = load_row(params.x, rows, p);
    element(y, p) = rounded<T>(x + both[0].share * (both[1].silu() - x));
  }
};
template <class T>
struct write_update_gradients {
  update_gate_params<T> params;
  ss::row_lengths rows;
  tensor4<T const> dy;
  update_gate_grads<T> grads;

  static constexpr int gates = 2;
  RECIPES_HD double argument(position const& p, int i) const {
    return load_row(i == 0 ? params.u : params.candidate, rows, p);
  }
  RECIPES_HD void operator()(position const& p, gate const* both) const {
    double const d = load_row(dy, rows, p), x = load_row(params.x, rows, p), share = both[0].share;
    element(grads.du, p) = rounded<T>(d * (both[1].silu() - x) * share * (1 - share));
    element(grads.dcandidate, p) = rounded<T>(d * share * both[1].silu_slope());
    element(grads.dx, p) = rounded<T>(d * (1 - share));
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
    for_each_gate(exec_, params.x.extents(), write_update<T>{params, lengths, y});
  }
  void backward(tensor4<T const> dy, update_gate_params<T> const& params, tensor4<T const>,
                update_gate_grads<T> const& grads) {
    for_each_gate(exec_, params.x.extents(),
                  write_update_gradients<T>{params, lengths_, dy, grads});
  }

 private:
  Exec exec_;
  ss::row_lengths lengths_;
};

}  // namespace recipes
