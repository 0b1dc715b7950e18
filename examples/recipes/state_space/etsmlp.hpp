// SPDX-License-Identifier: Apache-2.0
// The complex exponential smoothing of ETSMLP (Chu and Lin, Incorporating Exponential Smoothing
// into MLP, 2024), with one complex state per channel and direction:
//   a = exp(exp(log_rate)),  |a| at most exp(largest_exponent),  w = exp(log_weight) (1 - a)
//   y[t] = Re(w s[t]) + skip x[t],  s[t] = a s[t-1] + x[t]
// With 2 `directions`, as published, a second sum runs from the last row, with numbers of its own.
#pragma once

#include "channel_recurrence.hpp"
#include "zero_order_hold.hpp"

#include <slicesort/decaying_sum.hpp>
#include <slicesort/tensor_view.hpp>

namespace recipes {

struct etsmlp_model {
  static constexpr bool has_silu = false;

  template <class T>
  struct params {
    tensor4<T const> x;         // [batch, 1, length, channels]
    tensor4<T const> log_rate;  // [1, directions * 2, 1, channels], as log_weight
    tensor4<T const> log_weight;
    tensor4<T const> skip;                             // [1, 1, 1, channels]
    double largest_exponent = -1.0000500033334732e-4;  // |a| = .9999

    RECIPES_HD index_t directions() const { return log_rate.extents().heads / 2; }
  };
  template <class T>
  struct grads {
    tensor4<T> dx, dlog_rate, dlog_weight, dskip;
  };

  template <class T>
  static ss::decaying_sum operation(params<T> const& p) {
    return ss::decaying_sum(1, ss::decay_numbers::complex, direction_of(p.directions()));
  }

  // The state of a direction. decaying_sum doubles real parts, so weights are halved.
  struct smoothing {
    complex_number rate, decay, weight, factor;  // weight = factor (1 - decay)
    bool is_limited;

    template <class T>
    RECIPES_HD smoothing(params<T> const& p, index_t i, index_t channel)
        : rate(exponential(load_complex(p.log_rate, i, channel))),
          factor(.5 * exponential(load_complex(p.log_weight, i, channel))) {
      is_limited = rate.re > p.largest_exponent;
      complex_number const exponent{is_limited ? p.largest_exponent : rate.re, rate.im};
      decay = exponential(exponent);
      weight = -1 * (factor * exponential_minus_1(exponent));
    }
  };

  template <class T>
  struct write_decays {
    params<T> p;
    tensor4<accumulator<T>> a, w;

    RECIPES_HD void operator()(index_t channel) const {
      for (index_t i = 0; i < p.directions(); ++i) {
        smoothing const s(p, i, channel);
        store_complex(a, i, channel, s.decay);
        store_complex(w, i, channel, s.weight);
      }
    }
  };
  template <class T>
  struct write_gradients {
    params<T> p;
    tensor4<accumulator<T>> da, dw;
    grads<T> g;

    RECIPES_HD void operator()(index_t channel) const {
      for (index_t i = 0; i < p.directions(); ++i) {
        smoothing const s(p, i, channel);
        complex_number const dweight = load_complex(dw, i, channel);
        complex_number drate = conjugate(s.decay) * (load_complex(da, i, channel) +
                                                     -1 * (conjugate(s.factor) * dweight));
        if (s.is_limited) drate.re = 0;
        store_complex(g.dlog_rate, i, channel, conjugate(s.rate) * drate);
        store_complex(g.dlog_weight, i, channel, conjugate(s.weight) * dweight);
      }
    }
  };
};

template <class T>
using etsmlp_params = etsmlp_model::params<T>;
template <class T>
using etsmlp_grads = etsmlp_model::grads<T>;
template <class T, class Exec>
using etsmlp = channel_recurrence<T, Exec, etsmlp_model>;

}  // namespace recipes
