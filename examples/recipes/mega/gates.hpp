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

  static constexpr int gates = 1;
  struct gate_row {
    row_numbers<T> x;
    row_elements<T> y;

    RECIPES_HD double argument(index_t c, int) const { return x[c]; }
    RECIPES_HD void operator()(index_t c, gate const* x_gate) const {
      y[c] = rounded<T>(x_gate->silu());
    }
  };
  RECIPES_HD gate_row row(position const& p) const {
    return {numbers_of(x, rows, p), row_of(y, p)};
  }
};
// dx = d SiLU'(x), with zeros past the lengths.
template <class T>
struct write_silu_gradient {
  tensor4<T const> x, d;
  ss::row_lengths rows;
  tensor4<T> dx;

  static constexpr int gates = 1;
  struct gate_row {
    row_numbers<T> x, d;
    row_elements<T> dx;

    RECIPES_HD double argument(index_t c, int) const { return x[c]; }
    RECIPES_HD void operator()(index_t c, gate const* x_gate) const {
      dx[c] = rounded<T>(d[c] * x_gate->silu_slope());
    }
  };
  RECIPES_HD gate_row row(position const& p) const {
    return {numbers_of(x, rows, p), numbers_of(d, rows, p), row_of(dx, p)};
  }
};

// y = h SiLU(r), and its gradients. h may be longer than r and y.
template <class T>
struct write_gated {
  tensor4<T const> h, r;
  ss::row_lengths rows;
  tensor4<T> y;

  static constexpr int gates = 1;
  struct gate_row {
    row_numbers<T> h, r;
    row_elements<T> y;

    RECIPES_HD double argument(index_t c, int) const { return r[c]; }
    RECIPES_HD void operator()(index_t c, gate const* r_gate) const {
      y[c] = rounded<T>(h[c] * r_gate->silu());
    }
  };
  RECIPES_HD gate_row row(position const& p) const {
    return {numbers_of(h, rows, p), numbers_of(r, rows, p), row_of(y, p)};
  }
};
template <class T>
struct write_gated_gradients {
  tensor4<T const> h, r;
  ss::row_lengths rows;
  tensor4<T const> dy;
  tensor4<T> dh, dr;

  static constexpr int gates = 1;
  struct gate_row {
    row_numbers<T> h, r, dy;
    row_elements<T> dh, dr;
    bool has_r;

    RECIPES_HD double argument(index_t c, int) const { return r[c]; }
    RECIPES_HD void operator()(index_t c, gate const* r_gate) const {
      double const d = dy[c];
      dh[c] = rounded<T>(d * r_gate->silu());
      if (has_r) dr[c] = rounded<T>(d * h[c] * r_gate->silu_slope());
    }
  };
  RECIPES_HD gate_row row(position const& p) const {
    return {numbers_of(h, rows, p), numbers_of(r, rows, p), numbers_of(dy, rows, p),
            row_of(dh, p),          row_of(dr, p),          p.row < r.extents().length};
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
// The numbers of a row of params.
template <class T>
struct update_gate_row {
  row_numbers<T> u, candidate, x;

  RECIPES_HD update_gate_row(update_gate_params<T> const& params, ss::row_lengths const& rows,
                             position const& p)
      : u(numbers_of(params.u, rows, p)),
        candidate(numbers_of(params.candidate, rows, p)),
        x(numbers_of(params.x, rows, p)) {}
  RECIPES_HD double argument(index_t c, int i) const { return i == 0 ? u[c] : candidate[c]; }
};
template <class T>
struct write_update {
  update_gate_params<T> params;
  ss::row_lengths rows;
  tensor4<T> y;

  static constexpr int gates = 2;
  struct gate_row : update_gate_row<T> {
    row_elements<T> y;

    RECIPES_HD gate_row(write_update const& update, position const& p)
        : update_gate_row<T>(update.params, update.rows, p), y(row_of(update.y, p)) {}
    RECIPES_HD void operator()(index_t c, gate const* both) const {
      double const value = this->x[c];
      y[c] = rounded<T>(value + both[0].share * (both[1].silu() - value));
    }
  };
  RECIPES_HD gate_row row(position const& p) const { return {*this, p}; }
};
template <class T>
struct write_update_gradients {
  update_gate_params<T> params;
  ss::row_lengths rows;
  tensor4<T const> dy;
  update_gate_grads<T> grads;

  static constexpr int gates = 2;
  struct gate_row : update_gate_row<T> {
    row_numbers<T> dy;
    row_elements<T> du, dcandidate, dx;

    RECIPES_HD gate_row(write_update_gradients const& update, position const& p)
        : update_gate_row<T>(update.params, update.rows, p),
          dy(numbers_of(update.dy, update.rows, p)),
          du(row_of(update.grads.du, p)),
          dcandidate(row_of(update.grads.dcandidate, p)),
          dx(row_of(update.grads.dx, p)) {}
    RECIPES_HD void operator()(index_t c, gate const* both) const {
      double const d = dy[c], share = both[0].share;
      du[c] = rounded<T>(d * (both[1].silu() - this->x[c]) * share * (1 - share));
      dcandidate[c] = rounded<T>(d * share * both[1].silu_slope());
      dx[c] = rounded<T>(d * (1 - share));
    }
  };
  RECIPES_HD gate_row row(position const& p) const { return {*this, p}; }
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
