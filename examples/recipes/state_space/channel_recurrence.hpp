// SPDX-License-Identifier: Apache-2.0
// Layers of linear recurrences, each of one channel: y = f(decaying_sum(x; a, w) + skip * x), where
// a and w are functions of learned parameters, and f is the identity or SiLU. Decays are close
// to 1, so for 16-bit types a, w and the sums are floats.
#pragma once

#include "../support.hpp"
#include "activations.hpp"

#include <slicesort/decaying_sum.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

namespace recipes {

// The direction of sums in one direction or two.
inline ss::decay_direction direction_of(index_t directions) {
  return directions == 2 ? ss::decay_direction::both : ss::decay_direction::forward;
}

// The argument of f.
template <class T>
struct skip_connection {
  using A = accumulator<T>;
  tensor4<A const> sums;
  tensor4<T const> x, skip;
  ss::row_lengths rows;
};
// 0 past the lengths.
template <class T>
struct argument_row {
  row_numbers<accumulator<T>> sums;
  row_numbers<T> x;
  row_elements<T const> skip;

  RECIPES_HD argument_row(skip_connection<T> const& connection, position const& p)
      : sums(numbers_of(connection.sums, connection.rows, p)),
        x(numbers_of(connection.x, connection.rows, p)),
        skip(row_of(connection.skip, position(0, 0, 0, 0))) {}
  RECIPES_HD double argument(index_t c, int = 0) const {
    return x.is_zero ? 0 : sums[c] + to_double(skip[c]) * x[c];
  }
};
// Their rows are called with a gate if f is SiLU.
template <class T>
struct write_rows {
  skip_connection<T> skip;
  tensor4<T> y;

  static constexpr int gates = 1;
  struct gate_row : argument_row<T> {
    row_elements<T> y;

    RECIPES_HD gate_row(write_rows const& rows, position const& p)
        : argument_row<T>(rows.skip, p), y(row_of(rows.y, p)) {}
    RECIPES_HD void operator()(index_t c, gate const* f) const { y[c] = rounded<T>(f->silu()); }
    RECIPES_HD void operator()(index_t c) const { y[c] = rounded<T>(this->argument(c)); }
  };
  RECIPES_HD gate_row row(position const& p) const { return {*this, p}; }
};
template <class T>
struct write_argument_gradient {
  skip_connection<T> skip;
  tensor4<T const> dy;
  tensor4<accumulator<T>> d;

  static constexpr int gates = 1;
  struct gate_row : argument_row<T> {
    row_numbers<T> dy;
    row_elements<accumulator<T>> d;

    RECIPES_HD gate_row(write_argument_gradient const& rows, position const& p)
        : argument_row<T>(rows.skip, p),
          dy(numbers_of(rows.dy, rows.skip.rows, p)),
          d(row_of(rows.d, p)) {}
    RECIPES_HD void operator()(index_t c, gate const* f) const {
      d[c] = rounded<accumulator<T>>(dy[c] * f->silu_slope());
    }
    RECIPES_HD void operator()(index_t c) const { d[c] = rounded<accumulator<T>>(dy[c]); }
  };
  RECIPES_HD gate_row row(position const& p) const { return {*this, p}; }
};
template <class T>
struct write_input_gradient {
  tensor4<T const> skip;
  tensor4<accumulator<T> const> d, dsums;  // of f's argument, and what decaying_sum adds to dx
  tensor4<T> dx;

  struct element_row {
    row_elements<T const> skip;
    row_elements<accumulator<T> const> d, dsums;
    row_elements<T> dx;

    RECIPES_HD void operator()(index_t c) const {
      dx[c] = rounded<T>(to_double(dsums[c]) + to_double(skip[c]) * to_double(d[c]));
    }
  };
  RECIPES_HD element_row row(position const& p) const {
    return {row_of(skip, position(0, 0, 0, 0)), row_of(d, p), row_of(dsums, p), row_of(dx, p)};
  }
};

// `Model` defines
// - `params<T>` with x, `[batch, 1, length, channels]`, and skip, `[1, 1, 1, channels]`, and
//   `grads<T>` with dx and dskip;
// - `has_silu`, and `operation(params)`, a decaying_sum;
// - `write_decays<T>{params, a, w}` and `write_gradients<T>{params, da, dw, grads}`, both called
//   for every channel; a and w are `[1, numbers, 1, channels]`.
template <class T, class Exec, class Model>
class channel_recurrence {
  using A = accumulator<T>;

 public:
  using params_type = typename Model::template params<T>;
  using grads_type = typename Model::template grads<T>;

  explicit channel_recurrence(Exec const& exec) : exec_(exec), memory_(exec) {}

  void forward(params_type const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.x.extents();
    memory_.clear();
    op_ = Model::operation(params);
    lengths_ = lengths;
    a_ = decays(e), w_ = decays(e), sums_ = memory_.template tensor<A>(e);
    for_each_index(exec_, e.channels, typename Model::template write_decays<T>{params, a_, w_});
    if constexpr (std::is_same_v<T, A>)
      x_ = params.x;
    else
      x_ = convert<A>(exec_, memory_, params.x);
    op_.forward(exec_, head(x_, 0), {a_, w_}, head(sums_, 0), {}, memory_.workspace(), lengths);
    for_each_argument(e, write_rows<T>{skip(params), y});
  }

  void backward(tensor4<T const> dy, params_type const& params, tensor4<T const>,
                grads_type const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    extents4 const e = params.x.extents();
    auto const d = memory_.template tensor<A>(e), dsums = memory_.template tensor<A>(e),
               da = decays(e), dw = decays(e);
    for_each_argument(e, write_argument_gradient<T>{skip(params), dy, d});
    op_.backward(exec_, head(d, 0), head(x_, 0), {a_, w_}, {head(dsums, 0), da, dw}, {},
                 memory_.workspace(), lengths_);
    for_each_element(exec_, e, write_input_gradient<T>{params.skip, d, dsums, grads.dx});
    sum_rows(exec_, e, sum_products<A, T>{d, params.x, grads.dskip, lengths_});
    for_each_index(exec_, e.channels,
                   typename Model::template write_gradients<T>{params, da, dw, grads});
  }

 private:
  tensor4<A> decays(extents4 e) {
    return memory_.template tensor<A>({1, op_.numbers(), 1, e.channels});
  }
  skip_connection<T> skip(params_type const& params) const {
    return {sums_, params.x, params.skip, lengths_};
  }
  template <class F>
  void for_each_argument(extents4 e, F const& f) {
    if constexpr (Model::has_silu)
      for_each_gate(exec_, e, f);
    else
      for_each_element(exec_, e, f);
  }

  Exec exec_;
  memory<Exec> memory_;
  ss::decaying_sum op_;
  ss::row_lengths lengths_;
  tensor4<A const> x_;
  tensor4<A> a_, w_, sums_;
};

}  // namespace recipes
