// SPDX-License-Identifier: Apache-2.0
// S4D, the diagonal form of S4 (Gu et al., On the Parameterization and Initialization of Diagonal
// State Space Models, 2022), with a zero-order hold: for every channel and `states` complex states
//   A = -exp(log_decay) + i frequency,  a = exp(step A),  w = c (a - 1) / A
//   y[t] = sum over the states of 2 Re(w s[t]) + skip x[t],  s[t] = a s[t-1] + x[t]
// With 2 `directions`, a second sum runs from the last row, with the same a and a c of its own.
#pragma once

#include "channel_recurrence.hpp"
#include "zero_order_hold.hpp"

#include <slicesort/decaying_sum.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

struct s4d_model {
  static constexpr bool has_silu = false;

  template <class T>
  struct params {
    tensor4<T const> x;                     // [batch, 1, length, channels]
    tensor4<T const> log_step;              // [1, 1, 1, channels]
    tensor4<T const> log_decay, frequency;  // [1, states, 1, channels]
    tensor4<T const> c;                     // [1, directions * states * 2, 1, channels]
    tensor4<T const> skip;                  // [1, 1, 1, channels]

    RECIPES_HD index_t states() const { return log_decay.extents().heads; }
    RECIPES_HD index_t directions() const { return c.extents().heads / (2 * states()); }
    RECIPES_HD zero_order_hold discretize(index_t state, index_t channel) const {
      return {to_double(log_step(0, 0, 0, channel)), to_double(log_decay(0, state, 0, channel)),
              to_double(frequency(0, state, 0, channel))};
    }
  };
  template <class T>
  struct grads {
    tensor4<T> dx, dlog_step, dlog_decay, dfrequency, dc, dskip;
  };

  template <class T>
  static ss::decaying_sum operation(params<T> const& p) {
    return ss::decaying_sum(p.states(), ss::decay_numbers::complex, direction_of(p.directions()));
  }

  template <class T>
  struct write_decays {
    params<T> p;
    tensor4<accumulator<T>> a, w;

    RECIPES_HD void operator()(index_t channel) const {
      for (index_t i = 0; i < p.states() * p.directions(); ++i) {
        zero_order_hold const hold = p.discretize(i % p.states(), channel);
        store_complex(a, i, channel, hold.decay);
        store_complex(w, i, channel, load_complex(p.c, i, channel) * hold.gain);
      }
    }
  };
  template <class T>
  struct write_gradients {
    params<T> p;
    tensor4<accumulator<T>> da, dw;
    grads<T> g;

    RECIPES_HD void operator()(index_t channel) const {
      double dlog_step = 0;
      for (index_t state = 0; state < p.states(); ++state) {
        zero_order_hold const hold = p.discretize(state, channel);
        complex_number ddecay{0, 0}, dgain{0, 0};
        for (index_t i = state; i < p.states() * p.directions(); i += p.states()) {
          complex_number const dweight = load_complex(dw, i, channel);
          ddecay = ddecay + load_complex(da, i, channel);
          dgain = dgain + conjugate(load_complex(p.c, i, channel)) * dweight;
          store_complex(g.dc, i, channel, conjugate(hold.gain) * dweight);
        }
        auto const d = hold.backward(ddecay, dgain);
        dlog_step += d.log_step;
        g.dlog_decay(0, state, 0, channel) = rounded<T>(d.log_decay);
        g.dfrequency(0, state, 0, channel) = rounded<T>(d.frequency);
      }
      g.dlog_step(0, 0, 0, channel) = rounded<T>(dlog_step);
    }
  };
};

template <class T>
using s4d_params = s4d_model::params<T>;
template <class T>
using s4d_grads = s4d_model::grads<T>;
template <class T, class Exec>
using s4d = channel_recurrence<T, Exec, s4d_model>;

}  // namespace recipes
