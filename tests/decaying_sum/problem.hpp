// SPDX-License-Identifier: Apache-2.0
// A call of decaying_sum and its expected results, computed channel by channel in the documented
// order.
#pragma once

#include "support/numbers.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/decaying_sum.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace support {

// Contiguous tensor [batch or 1, numbers, length or 1, channels].
template <class T>
struct number_tensor {
  extents4 extents{};
  std::vector<T> elements;

  number_tensor() = default;
  explicit number_tensor(extents4 e) : extents(e), elements(static_cast<std::size_t>(e.size())) {}
  // Row 0 stands for all rows of a tensor without batch or length.
  T& operator()(index_t b, index_t j, index_t n, index_t c) { return elements[offset(b, j, n, c)]; }
  T const& operator()(index_t b, index_t j, index_t n, index_t c) const {
    return elements[offset(b, j, n, c)];
  }
  tensor4<T> view() { return {elements.data(), extents}; }
  tensor4<T const> view() const { return {elements.data(), extents}; }

 private:
  std::size_t offset(index_t b, index_t j, index_t n, index_t c) const {
    extents4 const e = extents;
    if (e.batch == 1) b = 0;
    if (e.length == 1) n = 0;
    return static_cast<std::size_t>(((b * e.heads + j) * e.length + n) * e.channels + c);
  }
};

// States, number type, direction, and where a is given.
struct decay_variant {
  index_t states = 1;
  bool is_complex = false;
  ss::decay_direction direction = ss::decay_direction::forward;
  bool per_row = false;

  ss::decaying_sum op() const {
    return ss::decaying_sum(
        states, is_complex ? ss::decay_numbers::complex : ss::decay_numbers::real, direction);
  }
};

template <class T>
struct decay_problem : variant_problem<T> {
  using A = slicesort::detail::accumulator_t<T>;
  decay_variant variant;
  ss::grad_mode mode = ss::grad_mode::overwrite;
  number_tensor<T> a, w;
  number_tensor<A> initial, dlast;
  tensor<T> old_dx;  // before a call that accumulates
  number_tensor<T> old_da, old_dw;
  // Expected results beside y and dx.
  number_tensor<A> last, dinitial;
  number_tensor<T> da, dw;

  ss::decaying_sum op() const { return variant.op(); }

  void compute_expected() {
    extents3 const e = this->x.extents();
    bool const adds = mode == ss::grad_mode::accumulate;
    last = initial, dinitial = dlast;
    da = adds ? old_da : number_tensor<T>(a.extents);
    dw = adds ? old_dw : number_tensor<T>(w.extents);
    this->y = tensor<T>(e), this->dx = adds ? old_dx : tensor<T>(e);
    index_t const numbers = op().numbers(),
                  passes = variant.direction == ss::decay_direction::both ? 2 : 1;
    for (index_t pass = 0; pass < passes; ++pass)
      for (index_t c = 0; c < e.channels; ++c) {
        std::vector<double> sums(static_cast<std::size_t>(2 * numbers));
        for (index_t b = 0; b < e.batch; ++b) {
          auto sample_sums = run_column(b, c, pass, numbers / passes);
          for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += sample_sums[i];
        }
        for (index_t j = pass * numbers / passes; j < (pass + 1) * numbers / passes; ++j) {
          auto const i = static_cast<std::size_t>(j);
          if (!variant.per_row) store(da(0, j, 0, c), static_cast<A>(sums[2 * i]), adds);
          double const scale = variant.is_complex ? 2 : 1;
          store(dw(0, j, 0, c), static_cast<A>(scale * sums[2 * i + 1]), adds);
        }
      }
  }

 private:
  struct number {
    A re = 0, im = 0;
  };

  template <class E>
  static void store(E& element, A value, bool adds) {
    if (adds) value = static_cast<A>(element) + value;
    element = std::isnan(value) ? from_bits<E>(ss::detail::nan_bits<E>) : static_cast<E>(value);
  }
  void store_state(number_tensor<A>& state, index_t b, index_t j, index_t c, number s) const {
    store(state(b, j, 0, c), s.re, false);
    if (variant.is_complex) store(state(b, j + 1, 0, c), s.im, false);
  }
  template <class Tensor>
  number load(Tensor const& t, index_t b, index_t j, index_t n, index_t c) const {
    return {static_cast<A>(t(b, j, n, c)),
            variant.is_complex ? static_cast<A>(t(b, j + 1, n, c)) : A(0)};
  }
  number next_state(number a_row, number s, A input) const {
    if (!variant.is_complex) return {std::fma(a_row.re, s.re, input), 0};
    return {std::fma(a_row.re, s.re, std::fma(-a_row.im, s.im, input)),
            std::fma(a_row.re, s.im, a_row.im * s.re)};
  }

  // Runs a pass over one column. Returns its sums of da and dw, two of every number.
  std::vector<double> run_column(index_t b, index_t c, index_t pass, index_t numbers) {
    index_t const rows = this->rows(b), parts = variant.is_complex ? 2 : 1, first = pass * numbers;
    bool const reversed = pass == 1 || variant.direction == ss::decay_direction::reverse;
    bool const adds = mode == ss::grad_mode::accumulate;
    auto const row = [&](index_t t) { return reversed ? rows - 1 - t : t; };
    std::vector<double> sums(static_cast<std::size_t>(2 * op().numbers()));
    std::vector<A> y_sums(static_cast<std::size_t>(rows)), dx_sums(y_sums.size());
    for (index_t j = first; j < first + numbers; j += parts) {
      number w_j = load(w, 0, j, 0, c), s = load(initial, b, j, 0, c);
      if (variant.is_complex) w_j = {2 * w_j.re, 2 * w_j.im};
      std::vector<number> states{s};
      for (index_t t = 0; t < rows; ++t) {
        s = next_state(load(a, b, j, row(t), c), s, static_cast<A>(this->x(b, row(t), c)));
        states.push_back(s);
        A& sum = y_sums[static_cast<std::size_t>(t)];
        sum = std::fma(w_j.re, s.re, sum);
        if (variant.is_complex) sum = std::fma(-w_j.im, s.im, sum);
      }
      store_state(last, b, j, c, s);

      number g = load(dlast, b, j, 0, c), tile_da, tile_dw;
      auto const flush = [&] {
        A const values[] = {tile_da.re, tile_dw.re, tile_da.im, tile_dw.im};
        for (index_t i = 0; i < 2 * parts; ++i)
          sums[static_cast<std::size_t>(2 * j + i)] += static_cast<double>(values[i]);
        tile_da = tile_dw = {};
      };
      for (index_t t = rows - 1; t >= 0; --t) {
        number const before = states[static_cast<std::size_t>(t)],
                     behind = states[static_cast<std::size_t>(t + 1)],
                     a_row = load(a, b, j, row(t), c);
        A const output_gradient = static_cast<A>(this->dy(b, row(t), c));
        number const lam{std::fma(w_j.re, output_gradient, g.re),
                         variant.is_complex ? std::fma(-w_j.im, output_gradient, g.im) : A(0)};
        dx_sums[static_cast<std::size_t>(t)] += lam.re;
        tile_dw = {std::fma(output_gradient, behind.re, tile_dw.re),
                   std::fma(-output_gradient, behind.im, tile_dw.im)};
        number const start = variant.per_row ? number{} : tile_da;
        tile_da = variant.is_complex
                      ? number{std::fma(lam.re, before.re, std::fma(lam.im, before.im, start.re)),
                               std::fma(lam.im, before.re, std::fma(-lam.re, before.im, start.im))}
                      : number{std::fma(lam.re, before.re, start.re), 0};
        if (variant.per_row) {
          store(da(b, j, row(t), c), tile_da.re, adds);
          if (variant.is_complex) store(da(b, j + 1, row(t), c), tile_da.im, adds);
        }
        g = variant.is_complex ? number{std::fma(a_row.re, lam.re, a_row.im * lam.im),
                                        std::fma(a_row.re, lam.im, -a_row.im * lam.re)}
                               : number{a_row.re * lam.re, 0};
        if (t % 16 == 0) flush();
      }
      store_state(dinitial, b, j, c, g);
    }
    for (index_t t = 0; t < rows; ++t) {
      store(this->y(b, row(t), c), y_sums[static_cast<std::size_t>(t)], pass > 0);
      store(this->dx(b, row(t), c), dx_sums[static_cast<std::size_t>(t)], pass > 0 || adds);
    }
    return sums;
  }
};

// A problem with decays of magnitude below 1. Padding is NaN, which must not be read.
template <class T>
decay_problem<T> make_decay_problem(extents3 e, decay_variant variant, std::uint64_t seed,
                                    std::vector<index_t> lengths = {},
                                    ss::grad_mode mode = ss::grad_mode::overwrite) {
  using A = typename decay_problem<T>::A;
  decay_problem<T> p;
  p.variant = variant, p.mode = mode, p.lengths = std::move(lengths);
  random_stream random(seed);
  auto const fill = [&](auto& elements, double low, double high) {
    using E = typename std::decay_t<decltype(elements)>::value_type;
    for (auto& element : elements)
      element =
          from_double<E>(low + (high - low) * (static_cast<double>(random.below(4096)) / 4096));
  };
  index_t const numbers = variant.op().numbers();
  extents4 const constant{1, numbers, 1, e.channels}, state{e.batch, numbers, 1, e.channels};
  p.x = p.dy = p.old_dx = tensor<T>(e);
  p.a = p.old_da = number_tensor<T>(
      variant.per_row ? extents4{e.batch, numbers, e.length, e.channels} : constant);
  p.w = p.old_dw = number_tensor<T>(constant);
  p.initial = p.dlast = number_tensor<A>(state);
  for (tensor<T>* t : {&p.x, &p.dy, &p.old_dx}) fill(t->elements(), -1, 1);
  for (number_tensor<T>* t : {&p.w, &p.old_da, &p.old_dw}) fill(t->elements, -1, 1);
  for (number_tensor<A>* t : {&p.initial, &p.dlast}) fill(t->elements, -1, 1);
  fill(p.a.elements, -.5, variant.is_complex ? .7 : .99);
  T const nan = from_bits<T>(ss::detail::nan_bits<T>);
  for_each_position(e, [&](index_t b, index_t n, index_t c) {
    if (n < p.rows(b)) return;
    p.x(b, n, c) = p.dy(b, n, c) = nan;
    if (variant.per_row)
      for (index_t j = 0; j < numbers; ++j) p.a(b, j, n, c) = nan;
  });
  p.compute_expected();
  return p;
}

}  // namespace support
