// SPDX-License-Identifier: Apache-2.0
// Checks of the layers of recipes/state_space/channel_recurrence.hpp, against sums over all rows.
#pragma once

#include "calls.hpp"
#include "check.hpp"

#include <slicesort/exec.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <utility>
#include <vector>

namespace recipe_checks {

struct recurrence {
  owned<double> x, dy;                    // [batch, 1, length, channels]
  std::vector<owned<double>> parameters;  // in the order of the params; the last is skip
  std::vector<index_t> lengths{};

  double number(std::size_t parameter, index_t i, index_t channel) const {
    return parameters[parameter](0, i, 0, channel);
  }
  std::complex<double> complex(std::size_t parameter, index_t i, index_t channel) const {
    return {number(parameter, 2 * i, channel), number(parameter, 2 * i + 1, channel)};
  }
};
// `counts` are the numbers of each parameter but skip.
inline recurrence make_recurrence(extents3 e, std::vector<index_t> const& counts) {
  extents4 const x{e.batch, 1, e.length, e.channels};
  recurrence p{random_tensor(x, 1), random_tensor(x, 2), {}};
  for (index_t count : counts)
    p.parameters.push_back(random_tensor({1, count, 1, e.channels}, p.parameters.size() + 3));
  p.parameters.push_back(random_tensor({1, 1, 1, e.channels}, 9));
  return p;
}

// y, dx, and the gradients of the parameters.
template <class T>
using recurrence_results = std::vector<owned<T>>;
template <class T, class Layer, std::size_t... Index>
recurrence_results<T> run_recurrence(recurrence const& p, std::index_sequence<Index...>) {
  auto x = convert<T>(p.x), dy = convert<T>(p.dy);
  fill_padding(x, p.lengths);
  fill_padding(dy, p.lengths);
  recurrence_results<T> r{nan_like(x), nan_like(x)};
  std::vector<owned<T>> parameters;
  for (auto const& parameter : p.parameters) {
    parameters.push_back(convert<T>(parameter));
    r.push_back(nan_like(parameters.back()));
  }
  call(Layer(ss::exec::host{2}),
       typename Layer::params_type{std::as_const(x).view(),
                                   std::as_const(parameters[Index]).view()...},
       typename Layer::grads_type{r[1].view(), r[2 + Index].view()...}, dy, r[0], p.lengths);
  return r;
}
template <class T, class Layer, std::size_t Parameters>
recurrence_results<T> run_recurrence(recurrence const& p) {
  return run_recurrence<T, Layer>(p, std::make_index_sequence<Parameters>());
}

// Sums over all rows. `response(p, direction, lag, channel)` is the weight of a row; without the
// second direction it is 0. `function` is applied to the sum with skip * x.
template <class Response, class Function>
owned<double> sum_over_rows(recurrence const& p, Response const& response,
                            Function const& function) {
  extents4 const e = p.x.shape;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t i = 0; i < valid_rows(p.lengths, b, e.length); ++i)
      for (index_t c = 0; c < e.channels; ++c) {
        double sum = p.number(p.parameters.size() - 1, 0, c) * p.x(b, 0, i, c);
        for (index_t j = 0; j < valid_rows(p.lengths, b, e.length); ++j) {
          if (j <= i) sum += response(p, 0, i - j, c) * p.x(b, 0, j, c);
          if (j >= i) sum += response(p, 1, j - i, c) * p.x(b, 0, j, c);
        }
        y(b, 0, i, c) = function(sum);
      }
  return y;
}

// Compares y with the oracle, and every gradient with its differences.
template <class Layer, std::size_t Parameters, class Oracle>
void check_recurrence(recurrence p, Oracle const& oracle) {
  // A row is a sum over all rows, directions and numbers of a channel.
  index_t terms = weight_roundings;
  for (auto const& parameter : p.parameters)
    terms = std::max(terms, weight_roundings + p.x.shape.length * parameter.shape.heads);
  for (auto const& lengths : {std::vector<index_t>{}, {4, 7}, {0, 1}}) {
    p.lengths = lengths;
    auto const r = run_recurrence<double, Layer, Parameters>(p);
    check_close(r[0], oracle(p), oracle_difference(terms));
    auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
    check_gradient(loss, p.x, r[1]);
    for (std::size_t i = 0; i < Parameters; ++i) check_gradient(loss, p.parameters[i], r[2 + i]);
  }
}

// Compares results in T, float or a 16-bit type, with those in double. They are rounded once, and
// sums over rows in float have `terms` times the error of a float.
template <class T, template <class> class Layer, std::size_t Parameters>
void check_recurrence_rounded(recurrence const& p, index_t terms) {
  auto const actual = run_recurrence<T, Layer<T>, Parameters>(p);
  auto const expected = run_recurrence<double, Layer<double>, Parameters>(p);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    check_close(actual[i], expected[i], rounding_error<T>(1, terms));
  }
}

// Rows that are parts of longer ones give the bits of rows of their own.
template <class Layer, std::size_t... Index>
void check_wide_rows(recurrence const& p, std::index_sequence<Index...>) {
  extents4 const e = p.x.shape;
  auto const r = run_recurrence<double, Layer, sizeof...(Index)>(p);
  std::vector<owned<double>> wide(4, owned<double>({e.batch, 1, e.length, 2 * e.channels}));
  auto const part = [&](owned<double>& x) {
    auto const view = x.view();
    return tensor4<double>(view.data() + e.channels, e, view.strides());
  };
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t n = 0; n < e.length; ++n)
      for (index_t c = 0; c < e.channels; ++c) {
        part(wide[0])(b, 0, n, c) = p.x(b, 0, n, c);
        part(wide[1])(b, 0, n, c) = p.dy(b, 0, n, c);
      }
  auto gradients = r;
  Layer layer(ss::exec::host{});
  typename Layer::params_type const params{part(wide[0]), p.parameters[Index].view()...};
  layer.forward(params, part(wide[2]));
  layer.backward(part(wide[1]), params, part(wide[2]),
                 {part(wide[3]), gradients[2 + Index].view()...});
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t n = 0; n < e.length; ++n)
      for (index_t c = 0; c < e.channels; ++c) {
        CHECK(part(wide[2])(b, 0, n, c) == r[0](b, 0, n, c));
        CHECK(part(wide[3])(b, 0, n, c) == r[1](b, 0, n, c));
        CHECK(wide[3](b, 0, n, c) == 0);
      }
  for (std::size_t i = 2; i < r.size(); ++i) CHECK(gradients[i].values == r[i].values);
}
template <class Layer, std::size_t Parameters>
void check_wide_rows(recurrence const& p) {
  check_wide_rows<Layer>(p, std::make_index_sequence<Parameters>());
}

}  // namespace recipe_checks
