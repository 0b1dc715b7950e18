// SPDX-License-Identifier: Apache-2.0
// Recipes of linear recurrences in the arena: S4D, ETSMLP. They read q alone, with all heads as
// channels.
#pragma once

#include "recipe_entry.hpp"
#include "recipes/state_space/etsmlp.hpp"
#include "recipes/state_space/s4d.hpp"

#include <slicesort/exec.hpp>

#include <cmath>
#include <complex>
#include <cstddef>

namespace bench {

// The weights of a recurrence by distance, for dense::tape::filtered. `decay` and `weight` return
// the exponent of a decay and the weight of state i of a channel; states from `first_reversed` on
// run from the last row.
template <class Exponent, class Weight>
dense::matrix recurrence_filter(ss::index_t length, dense::matrix const& skip, ss::index_t states,
                                ss::index_t first_reversed, Exponent const& exponent,
                                Weight const& weight) {
  dense::matrix filter(2 * length - 1, skip.columns);
  for (ss::index_t c = 0; c < skip.columns; ++c) {
    filter(length - 1, c) = skip(0, c);
    for (ss::index_t i = 0; i < states; ++i) {
      std::complex<double> const e = exponent(i, c), w = weight(i, c);
      for (ss::index_t n = 0; n < length; ++n)
        filter(length - 1 + (i < first_reversed ? n : -n), c) +=
            std::real(w * std::exp(static_cast<double>(n) * e));
    }
  }
  return filter;
}

// Numbers 2 i and 2 i + 1 of a channel.
template <class T>
std::complex<double> complex_at(learned_tensor<T> const& t, ss::index_t i, ss::index_t c) {
  return {to_double(t.view()(0, 2 * i, 0, c)), to_double(t.view()(0, 2 * i + 1, 0, c))};
}

// Parameters of S4D for rows of x.channels channels, and their gradients. Steps of about 1 / 20 and
// rates of about -1: a state remembers about 20 rows.
template <class T>
struct s4d_parameters {
  static constexpr ss::index_t states = 4, directions = 2;
  learned_tensor<T> log_step, log_decay, frequency, c, skip;

  explicit s4d_parameters(extents4 x)
      : log_step({1, 1, 1, x.channels}, .25, 1),
        log_decay({1, states, 1, x.channels}, .25, 2),
        frequency({1, states, 1, x.channels}, 2, 3),
        c({1, directions * states * 2, 1, x.channels}, 1, 4),
        skip({1, 1, 1, x.channels}, 1, 5) {
    for (T& step : log_step.values) step = from_double<T>(to_double(step) - 3);
  }
  recipes::s4d_params<T> params(tensor4<T const> x) const {
    return {x, log_step.view(), log_decay.view(), frequency.view(), c.view(), skip.view()};
  }
  recipes::s4d_grads<T> grads(tensor4<T> dx) {
    return {dx, log_step.grad(), log_decay.grad(), frequency.grad(), c.grad(), skip.grad()};
  }
  dense::matrix filter(ss::index_t length) const {
    auto const rate = [this](ss::index_t i, ss::index_t channel) {
      return std::complex<double>(-std::exp(to_double(log_decay.view()(0, i % states, 0, channel))),
                                  to_double(frequency.view()(0, i % states, 0, channel)));
    };
    auto const exponent = [&](ss::index_t i, ss::index_t channel) {
      return std::exp(to_double(log_step.view()(0, 0, 0, channel))) * rate(i, channel);
    };
    auto const weight = [&](ss::index_t i, ss::index_t channel) {
      return 2. * complex_at(c, i, channel) * (std::exp(exponent(i, channel)) - 1.) /
             rate(i, channel);
    };
    return recurrence_filter(length, skip.matrix(0), directions * states, states, exponent, weight);
  }
  static operations count_operations() {
    return {12.0 * states * directions, 42.0 * states * directions};
  }
};

template <class T>
struct s4d_case {
  using element = T;
  using layer = recipes::s4d<T, counting_exec>;
  static constexpr bool joins_heads = true;
  s4d_parameters<T> parameters;

  explicit s4d_case(extents4 x) : parameters(x) {}
  layer make(counting_exec const& exec) const { return layer(exec); }
  recipes::s4d_params<T> params(recipe_inputs<T const> const& x) const {
    return parameters.params(x.q);
  }
  recipes::s4d_grads<T> grads(recipe_inputs<T> const& d) {
    zeros_.fill_once(d.k, d.v);
    return parameters.grads(d.q);
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    return t.filtered(x.q, parameters.filter(x.q.value.rows));
  }
  static operations count_operations(extents4) { return s4d_parameters<T>::count_operations(); }
  // Roundings of decays, of weights, of sums, and of the result. Backward and forward multiply a
  // rounding of a decay by the rows that a state remembers, fewer than the terms of its sum.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(4, x); }

 private:
  unread_gradients<T> zeros_;
};

template <class T>
struct etsmlp_case {
  using element = T;
  using layer = recipes::etsmlp<T, counting_exec>;
  static constexpr bool joins_heads = true;
  static constexpr ss::index_t directions = 2;
  learned_tensor<T> log_rate, log_weight, skip;

  // Rates of about exp(-3 + 2.5 i) = -0.04 + 0.03 i.
  explicit etsmlp_case(extents4 x)
      : log_rate({1, 2 * directions, 1, x.channels}, .125, 1),
        log_weight({1, 2 * directions, 1, x.channels}, .5, 2),
        skip({1, 1, 1, x.channels}, 1, 3) {
    for (std::size_t i = 0; i < log_rate.values.size(); ++i) {
      bool const is_imaginary = i / static_cast<std::size_t>(x.channels) % 2 == 1;
      T& part = log_rate.values[i];
      part = from_double<T>(to_double(part) + (is_imaginary ? 2.5 : -3));
    }
  }
  layer make(counting_exec const& exec) const { return layer(exec); }
  recipes::etsmlp_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q, log_rate.view(), log_weight.view(), skip.view()};
  }
  recipes::etsmlp_grads<T> grads(recipe_inputs<T> const& d) {
    zeros_.fill_once(d.k, d.v);
    return {d.q, log_rate.grad(), log_weight.grad(), skip.grad()};
  }
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    auto const exponent = [this](ss::index_t i, ss::index_t channel) {
      return std::exp(complex_at(log_rate, i, channel));
    };
    auto const weight = [&](ss::index_t i, ss::index_t channel) {
      return std::exp(complex_at(log_weight, i, channel)) * (1. - std::exp(exponent(i, channel)));
    };
    return t.filtered(
        x.q, recurrence_filter(x.q.value.rows, skip.matrix(0), directions, 1, exponent, weight));
  }
  static operations count_operations(extents4) { return {12.0 * directions, 42.0 * directions}; }
  // Same as S4D.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(4, x); }

 private:
  unread_gradients<T> zeros_;
};

}  // namespace bench
