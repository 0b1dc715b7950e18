// SPDX-License-Identifier: Apache-2.0
// The multidimensional damped moving average of MEGA (Ma et al., Mega: Moving Average Equipped
// Gated Attention, 2022), with `states` states per channel:
//   p = ss::sigmoid(delta),  a = 1 - p ss::sigmoid(alpha),  w = p beta gamma / sqrt(states)
//   y[t] = SiLU(sum over the states of w s[t] + skip x[t]),  s[t] = a s[t-1] + x[t]
// A second sum runs from the last row, with numbers of its own, as published for encoders.
#pragma once

#include "../state_space/channel_recurrence.hpp"
#include "../support.hpp"

#include <slicesort/decaying_sum.hpp>
#include <slicesort/sigmoid.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>

namespace recipes {

struct moving_average_model {
  static constexpr bool has_silu = true;

  template <class T>
  struct params {
    tensor4<T const> x;                          // [batch, 1, length, channels]
    tensor4<T const> delta, alpha, beta, gamma;  // [1, 2 * states, 1, channels]
    tensor4<T const> skip;                       // [1, 1, 1, channels], omega in the paper

    RECIPES_HD double number(tensor4<T const> const& t, index_t i, index_t channel) const {
      return to_double(t(0, i, 0, channel));
    }
    RECIPES_HD index_t states() const { return delta.extents().heads / 2; }
    RECIPES_HD double scale() const { return 1 / std::sqrt(static_cast<double>(states())); }
  };
  template <class T>
  struct grads {
    tensor4<T> dx, ddelta, dalpha, dbeta, dgamma, dskip;
  };

  template <class T>
  static ss::decaying_sum operation(params<T> const& p) {
    return ss::decaying_sum(p.states(), ss::decay_numbers::real, ss::decay_direction::both);
  }

  template <class T>
  struct write_decays {
    params<T> p;
    tensor4<accumulator<T>> a, w;

    RECIPES_HD void operator()(index_t channel) const {
      using A = accumulator<T>;
      for (index_t i = 0; i < 2 * p.states(); ++i) {
        double const share = ss::sigmoid(p.number(p.delta, i, channel));
        a(0, i, 0, channel) = rounded<A>(1 - share * ss::sigmoid(p.number(p.alpha, i, channel)));
        w(0, i, 0, channel) = rounded<A>(share * p.number(p.beta, i, channel) *
                                         p.number(p.gamma, i, channel) * p.scale());
      }
    }
  };
  template <class T>
  struct write_gradients {
    params<T> p;
    tensor4<accumulator<T>> da, dw;
    grads<T> g;

    RECIPES_HD void operator()(index_t channel) const {
      for (index_t i = 0; i < 2 * p.states(); ++i) {
        double const share = ss::sigmoid(p.number(p.delta, i, channel)),
                     damping = ss::sigmoid(p.number(p.alpha, i, channel)),
                     beta = p.number(p.beta, i, channel), gamma = p.number(p.gamma, i, channel),
                     decay = to_double(da(0, i, 0, channel)),
                     weight = p.scale() * to_double(dw(0, i, 0, channel));
        g.ddelta(0, i, 0, channel) =
            rounded<T>((weight * beta * gamma - decay * damping) * share * (1 - share));
        g.dalpha(0, i, 0, channel) = rounded<T>(-decay * share * damping * (1 - damping));
        g.dbeta(0, i, 0, channel) = rounded<T>(weight * share * gamma);
        g.dgamma(0, i, 0, channel) = rounded<T>(weight * share * beta);
      }
    }
  };
};

template <class T>
using moving_average_params = moving_average_model::params<T>;
template <class T>
using moving_average_grads = moving_average_model::grads<T>;
template <class T, class Exec>
using moving_average = channel_recurrence<T, Exec, moving_average_model>;

}  // namespace recipes
