// SPDX-License-Identifier: Apache-2.0
// S5 in the arena, in both directions. It reads q alone, with all heads as channels.
#pragma once

#include "recipes/state_space/s5.hpp"
#include "recurrent.hpp"

#include <slicesort/exec.hpp>

#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>

namespace bench {

// Steps and rates as in S4D.
template <class T>
struct s5_case {
  using element = T;
  using layer = recipes::s5<T, counting_exec>;
  static constexpr bool joins_heads = true;
  static constexpr ss::index_t states = 64, directions = 2;
  learned_tensor<T> log_step, log_decay, frequency, b, c, skip;

  explicit s5_case(extents4 x)
      : log_step({1, 1, 1, states}, .25, 1),
        log_decay({1, 1, 1, states}, .25, 2),
        frequency({1, 1, 1, states}, 2, 3),
        b({1, 2, states, x.channels}, 1 / std::sqrt(static_cast<double>(x.channels)), 4),
        c({1, 2 * directions, x.channels, states}, 1 / std::sqrt(double{states}), 5),
        skip({1, 1, 1, x.channels}, 1, 6) {
    for (T& step : log_step.values) step = from_double<T>(to_double(step) - 3);
  }
  layer make(counting_exec const& exec) const { return layer(exec); }
  recipes::s5_params<T> params(recipe_inputs<T const> const& x) const {
    return {x.q,      log_step.view(), log_decay.view(), frequency.view(),
            b.view(), c.view(),        skip.view()};
  }
  recipes::s5_grads<T> grads(recipe_inputs<T> const& d) {
    zeros_.fill_once(d.k, d.v);
    return {d.q,      log_step.grad(), log_decay.grad(), frequency.grad(),
            b.grad(), c.grad(),        skip.grad()};
  }

  // Filters of z = gain B x, real parts before imaginary parts, with the real and the imaginary
  // parts of the decays' powers.
  dense::node& expected(dense::tape& t, head_inputs const& x, ss::index_t) const {
    ss::index_t const length = x.q.value.rows;
    dense::node& z = t.product(x.q, t.constant(input_matrix()));
    dense::node* y = &t.product(x.q, t.constant(skip_matrix()));
    for (ss::index_t direction = 0; direction < directions; ++direction)
      for (bool const is_imaginary : {false, true}) {
        std::complex<double> const weight = is_imaginary ? std::complex<double>(0, -1) : 1;
        dense::matrix powers = recurrence_filter(
            length, dense::matrix(1, 2 * states), 1, direction == 0 ? 1 : 0,
            [this](ss::index_t, ss::index_t channel) { return exponent(channel % states); },
            [=](ss::index_t, ss::index_t) { return weight; });
        y = &t.combine(1, *y, 1,
                       t.product(t.filtered(z, std::move(powers)),
                                 t.constant(output_matrix(direction, is_imaginary))));
      }
    return *y;
  }
  // z has 2 states numbers a row, and every direction multiplies 4 states sums by C.
  static operations count_operations(extents4 x) {
    double const products = (4.0 + 8.0 * directions) * states,
                 sums = 4.0 * states * directions / static_cast<double>(x.channels);
    return {products + 12 * sums, 2 * products + 42 * sums};
  }
  // Roundings of B, of C, of decays, of sums, and of the result, as in S4D.
  static double tolerance(extents4 x) { return recipe_tolerance<T>(5, x); }

 private:
  unread_gradients<T> zeros_;

  std::complex<double> rate(ss::index_t state) const {
    return {-std::exp(to_double(log_decay.values[static_cast<std::size_t>(state)])),
            to_double(frequency.values[static_cast<std::size_t>(state)])};
  }
  std::complex<double> exponent(ss::index_t state) const {
    return std::exp(to_double(log_step.values[static_cast<std::size_t>(state)])) * rate(state);
  }
  // [channels, 2 * states]
  dense::matrix input_matrix() const {
    dense::matrix m(b.shape.channels, 2 * states);
    for (ss::index_t state = 0; state < states; ++state)
      for (ss::index_t channel = 0; channel < m.rows; ++channel) {
        std::complex<double> const value =
            (std::exp(exponent(state)) - 1.) / rate(state) *
            std::complex<double>(to_double(b.view()(0, 0, state, channel)),
                                 to_double(b.view()(0, 1, state, channel)));
        m(channel, state) = value.real(), m(channel, states + state) = value.imag();
      }
    return m;
  }
  // [2 * states, channels]: Re(2 C s) is the sum over both parts of the powers.
  dense::matrix output_matrix(ss::index_t direction, bool is_imaginary) const {
    dense::matrix const re = c.matrix(2 * direction), im = c.matrix(2 * direction + 1);
    dense::matrix m(2 * states, re.rows);
    for (ss::index_t state = 0; state < states; ++state)
      for (ss::index_t channel = 0; channel < m.columns; ++channel) {
        m(state, channel) = is_imaginary ? -2 * im(channel, state) : 2 * re(channel, state);
        m(states + state, channel) = -2 * (is_imaginary ? re : im)(channel, state);
      }
    return m;
  }
  dense::matrix skip_matrix() const {
    dense::matrix m(skip.shape.channels, skip.shape.channels);
    for (ss::index_t channel = 0; channel < m.rows; ++channel)
      m(channel, channel) = skip.matrix(0)(0, channel);
    return m;
  }
};

}  // namespace bench
