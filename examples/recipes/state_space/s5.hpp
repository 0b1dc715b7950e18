// SPDX-License-Identifier: Apache-2.0
// S5 (Smith et al., Simplified State Space Layers for Sequence Modeling, 2023), with a zero-order
// hold. Every state is one complex number that reads and writes all channels:
//   A = -exp(log_decay) + i frequency,  a = exp(step A),  z = (a - 1) / A (B x)
//   s[t] = a s[t-1] + z[t],  y[t] = 2 Re(C s[t]) + skip x[t]
// With 2 `directions`, other states run from the last row, with a C of their own. For 16-bit types,
// states and decays are floats.
#pragma once

#include "../support.hpp"
#include "zero_order_hold.hpp"

#include <slicesort/decaying_sum.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

template <class T>
struct s5_params {
  tensor4<T const> x;                               // [batch, 1, length, channels]
  tensor4<T const> log_step, log_decay, frequency;  // [1, 1, 1, states]
  tensor4<T const> b;                               // [1, 2, states, channels]: Re, Im
  tensor4<T const> c;     // [1, 2 * directions, channels, states]: Re, Im of each direction
  tensor4<T const> skip;  // [1, 1, 1, channels]

  RECIPES_HD zero_order_hold discretize(index_t state) const {
    return {to_double(log_step(0, 0, 0, state)), to_double(log_decay(0, 0, 0, state)),
            to_double(frequency(0, 0, 0, state))};
  }
  RECIPES_HD complex_number input(index_t state, index_t channel) const {
    return {to_double(b(0, 0, state, channel)), to_double(b(0, 1, state, channel))};
  }
};
template <class T>
struct s5_grads {
  tensor4<T> dx, dlog_step, dlog_decay, dfrequency, db, dc, dskip;
};

// Inputs of decaying_sum, whose channels are the real and then the imaginary parts of z. Its output
// is real, so that two sums compute the real and the imaginary parts of the states.
template <class T>
struct write_s5_decays {
  using A = accumulator<T>;
  s5_params<T> params;
  tensor4<A> a, w_real, w_imaginary;  // [1, 2, 1, 2 * states]
  tensor4<A> b;                       // [1, 1, 2 * states, channels]

  RECIPES_HD void operator()(index_t state) const {
    zero_order_hold const hold = params.discretize(state);
    index_t const states = params.log_step.extents().channels;
    for (index_t const channel : {state, states + state}) {
      store_complex(a, 0, channel, hold.decay);
      store_complex(w_real, 0, channel, {.5, 0});  // 2 Re(s / 2)
      store_complex(w_imaginary, 0, channel, {0, -.5});
    }
    for (index_t k = 0; k < b.extents().channels; ++k) {
      complex_number const value = hold.gain * params.input(state, k);
      b(0, 0, state, k) = rounded<A>(value.re);
      b(0, 0, states + state, k) = rounded<A>(value.im);
    }
  }
};
template <class T>
struct write_s5_gradients {
  using A = accumulator<T>;
  s5_params<T> params;
  tensor4<A> da, db;
  s5_grads<T> grads;

  RECIPES_HD void operator()(index_t state) const {
    zero_order_hold const hold = params.discretize(state);
    index_t const states = params.log_step.extents().channels;
    complex_number dgain{0, 0};
    for (index_t k = 0; k < db.extents().channels; ++k) {
      complex_number const d{to_double(db(0, 0, state, k)), to_double(db(0, 0, states + state, k))},
          dinput = conjugate(hold.gain) * d;
      dgain = dgain + conjugate(params.input(state, k)) * d;
      grads.db(0, 0, state, k) = rounded<T>(dinput.re);
      grads.db(0, 1, state, k) = rounded<T>(dinput.im);
    }
    auto const d =
        hold.backward(load_complex(da, 0, state) + load_complex(da, 0, states + state), dgain);
    grads.dlog_step(0, 0, 0, state) = rounded<T>(d.log_step);
    grads.dlog_decay(0, 0, 0, state) = rounded<T>(d.log_decay);
    grads.dfrequency(0, 0, 0, state) = rounded<T>(d.frequency);
  }
};

// 2 Re(C s) as a product. For each direction, the sums of Re z and Im z contribute Re C and -Im C
// through their real parts, and -Im C and -Re C through their imaginary parts.
template <class T>
struct write_s5_outputs {
  tensor4<T const> c;
  tensor4<accumulator<T>> w;  // [1, directions, 4 * states, channels]

  RECIPES_HD void operator()(position const& p) const {
    index_t const states = c.extents().channels, part = p.row / states, state = p.row % states;
    bool const is_imaginary = part == 1 || part == 2;
    double const value = 2 * to_double(c(0, 2 * p.head + (is_imaginary ? 1 : 0), p.channel, state));
    element(w, p) = rounded<accumulator<T>>(part == 0 ? value : -value);
  }
};
template <class T>
struct write_s5_output_gradients {
  tensor4<accumulator<T>> dw;
  tensor4<T> dc;

  RECIPES_HD void operator()(position const& p) const {
    index_t const states = dc.extents().channels, direction = p.head / 2;
    auto const part = [&](index_t i) {
      return to_double(dw(0, direction, i * states + p.channel, p.row));
    };
    element(dc, p) = rounded<T>(2 * (p.head % 2 == 0 ? part(0) - part(3) : -part(1) - part(2)));
  }
};

// y = sum + skip * x
template <class T>
struct add_skip {
  using A = accumulator<T>;
  tensor4<A const> sum, x;
  tensor4<T const> skip;
  tensor4<T> y;

  RECIPES_HD void operator()(position const& p) const {
    element(y, p) = rounded<T>(to_double(element(sum, p)) +
                               to_double(skip(0, 0, 0, p.channel)) * to_double(element(x, p)));
  }
};

template <class T, class Exec>
class s5 {
  using A = accumulator<T>;

 public:
  using params_type = s5_params<T>;
  using grads_type = s5_grads<T>;

  explicit s5(Exec const& exec) : exec_(exec), memory_(exec) {}

  void forward(s5_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.x.extents();
    index_t const states = params.log_step.extents().channels,
                  directions = params.c.extents().heads / 2;
    memory_.clear();
    lengths_ = lengths;
    x_ = tensor(e), a_ = numbers(states), w_real_ = numbers(states), w_imaginary_ = numbers(states);
    b_ = tensor({1, 1, 2 * states, e.channels});
    z_ = tensor({e.batch, 1, e.length, 2 * states});
    sums_ = tensor({e.batch, directions, e.length, 4 * states});
    c_ = tensor({1, directions, 4 * states, e.channels});
    copy(exec_, params.x, x_, 1, lengths);
    for_each_index(exec_, states, write_s5_decays<T>{params, a_, w_real_, w_imaginary_, b_});
    for_each_position(exec_, c_.extents(), write_s5_outputs<T>{params.c, c_});
    multiply(x_, ss::transposed(b_), z_);
    for_each_part(
        [&](ss::decaying_sum const& op, index_t direction, index_t first, tensor4<A const> w) {
          op.forward(exec_, head(z_, 0), {a_, w}, part(sums_, direction, first), {},
                     memory_.workspace(), lengths_);
        });
    typename memory<Exec>::scope const temporaries(memory_);
    auto const outputs = tensor(e);  // of all directions
    multiply(sums_, c_, outputs);
    for_each_position(exec_, e, add_skip<T>{outputs, x_, params.skip, y});
  }

  void backward(tensor4<T const> dy, s5_params<T> const& params, tensor4<T const>,
                s5_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    extents4 const e = params.x.extents();
    index_t const states = params.log_step.extents().channels;
    auto const d = tensor(e), dsums = tensor(sums_.extents()), dz = tensor(z_.extents()),
               dx = tensor(e), dc = tensor(c_.extents()), da = numbers(states),
               db = tensor(b_.extents());
    copy(exec_, dy, d, 1, lengths_);
    multiply(d, ss::transposed(c_), dsums);
    multiply(ss::transposed(sums_), d, dc);
    auto mode = ss::grad_mode::overwrite;  // of the first part; the others accumulate
    for_each_part(
        [&](ss::decaying_sum const& op, index_t direction, index_t first, tensor4<A const> w) {
          op.backward(exec_, part(dsums, direction, first), head(z_, 0), {a_, w},
                      {head(dz, 0), da, {}}, {}, memory_.workspace(), {mode, lengths_});
          mode = ss::grad_mode::accumulate;
        });
    multiply(dz, b_, dx);
    multiply(ss::transposed(dz), x_, db);
    for_each_position(exec_, e, add_skip<T>{dx, d, params.skip, grads.dx});
    sum_rows(exec_, e, sum_products<A, T>{d, params.x, grads.dskip, lengths_});
    for_each_position(exec_, params.c.extents(), write_s5_output_gradients<T>{dc, grads.dc});
    for_each_index(exec_, states, write_s5_gradients<T>{params, da, db, grads});
  }

 private:
  // Calls f(decaying_sum, direction, first channel of the sums, weights) for the real and the
  // imaginary parts of each direction.
  template <class F>
  void for_each_part(F const& f) {
    for (index_t direction = 0; direction < sums_.extents().heads; ++direction) {
      ss::decaying_sum const op(
          1, ss::decay_numbers::complex,
          direction == 0 ? ss::decay_direction::forward : ss::decay_direction::reverse);
      f(op, direction, 0, w_real_);
      f(op, direction, z_.extents().channels, w_imaginary_);
    }
  }
  // Half of the sums of a direction, [batch, length, 2 * states].
  tensor3<A> part(tensor4<A> sums, index_t direction, index_t first) const {
    auto const all_sums = head(sums, direction);
    extents3 const e = all_sums.extents();
    return {all_sums.data() + first, {e.batch, e.length, e.channels / 2}, all_sums.strides()};
  }
  void multiply(tensor4<A const> a, tensor4<A const> b, tensor4<A> c) {
    ss::matmul<>{}.forward(exec_, a, b, c, memory_.workspace());
  }
  tensor4<A> tensor(extents4 e) { return memory_.template tensor<A>(e); }
  tensor4<A> numbers(index_t states) { return tensor({1, 2, 1, 2 * states}); }

  Exec exec_;
  memory<Exec> memory_;
  ss::row_lengths lengths_;
  tensor4<A> x_, b_, z_, c_;  // with zeros past the lengths
  tensor4<A> a_, w_real_, w_imaginary_, sums_;
};

}  // namespace recipes
