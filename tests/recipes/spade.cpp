// SPDX-License-Identifier: Apache-2.0
// The recipe spade against its parts, which have tests of their own, and differences.
#include "recipes/state_space/spade.hpp"
#include "recipes/state_space/s5.hpp"

#include "calls.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

using host = ss::exec::host;
constexpr double norm_epsilon = 0.25;  // large enough to affect the results

struct problem {
  owned<double> q, k, v, dy, x;
  std::vector<owned<double>> numbers;  // of the state space
  owned<double> weight, bias, global_weight, global_bias;
  ss::mask::window window{1, 2};
  std::vector<index_t> lengths{};
};
problem make_problem(extents4 e, index_t width, index_t states) {
  auto const numbers = [&](index_t count, std::uint64_t seed) {
    return random_tensor({1, count, 1, width}, seed);
  };
  extents4 const local{1, e.heads, 1, e.channels};
  return {random_tensor(e, 1),
          random_tensor(e, 2),
          random_tensor(e, 3),
          random_tensor({e.batch, 1, e.length, e.heads * e.channels + width}, 4),
          random_tensor({e.batch, 1, e.length, width}, 5),
          {numbers(1, 6), numbers(states, 7), numbers(states, 8), numbers(4 * states, 9),
           numbers(1, 10)},
          random_tensor(local, 11),
          random_tensor(local, 12),
          numbers(1, 13),
          numbers(1, 14)};
}

template <class T>
struct result {
  owned<T> y, dq, dk, dv, dx, dlog_step, dlog_decay, dfrequency, dc, dskip, dweight, dbias,
      dglobal_weight, dglobal_bias;
};
template <class T>
result<T> run(problem const& p) {
  auto q = convert<T>(p.q), k = convert<T>(p.k), v = convert<T>(p.v), dy = convert<T>(p.dy),
       x = convert<T>(p.x);
  for (auto* rows : {&q, &k, &v, &dy, &x}) fill_padding(*rows, p.lengths);
  std::vector<owned<T>> numbers, dnumbers;
  for (auto const& values : p.numbers) {
    numbers.push_back(convert<T>(values));
    dnumbers.push_back(nan_like(numbers.back()));
  }
  auto const weight = convert<T>(p.weight), bias = convert<T>(p.bias),
             global_weight = convert<T>(p.global_weight), global_bias = convert<T>(p.global_bias);
  result<T> r{nan_like(dy),
              nan_like(q),
              nan_like(k),
              nan_like(v),
              nan_like(x),
              {},
              {},
              {},
              {},
              {},
              nan_like(weight),
              nan_like(bias),
              nan_like(global_weight),
              nan_like(global_bias)};
  auto const number = [&](std::size_t i) -> tensor4<T const> { return numbers[i].view(); };
  auto const dnumber = [&](std::size_t i) { return dnumbers[i].view(); };
  recipes::spade<T, host> layer(host{2}, p.window, norm_epsilon);
  call(std::move(layer),
       {q.view(),
        k.view(),
        v.view(),
        {x.view(), number(0), number(1), number(2), number(3), number(4)},
        {weight.view(), bias.view()},
        {global_weight.view(), global_bias.view()}},
       {r.dq.view(),
        r.dk.view(),
        r.dv.view(),
        {r.dx.view(), dnumber(0), dnumber(1), dnumber(2), dnumber(3), dnumber(4)},
        {r.dweight.view(), r.dbias.view()},
        {r.dglobal_weight.view(), r.dglobal_bias.view()}},
       dy, r.y, p.lengths);
  r.dlog_step = dnumbers[0], r.dlog_decay = dnumbers[1], r.dfrequency = dnumbers[2];
  r.dc = dnumbers[3], r.dskip = dnumbers[4];
  return r;
}

// Copies the channels of all heads to the columns of y from `first`.
void store_columns(owned<double>& y, index_t first, owned<double> const& x) {
  extents4 const e = x.shape;
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h)
      for (index_t n = 0; n < e.length; ++n)
        for (index_t c = 0; c < e.channels; ++c)
          y(b, 0, n, first + h * e.channels + c) = x(b, h, n, c);
}
owned<double> oracle(problem const& p) {
  extents4 const e = p.q.shape;
  owned<double> local(e), global(p.x.shape), y(p.dy.shape);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, e.length);
      matrix const q(p.q.view(), b, h, n), k(p.k.view(), b, h, n), v(p.v.view(), b, h, n);
      matrix scores = default_scale(q) * (q * transposed(k));
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j)
          if (j - i < -p.window.left || j - i > p.window.right) scores(i, j) = -HUGE_VAL;
      store(local, b, h, softmax_rows(scores) * v);
    }
  auto x = p.x;
  recipes::s4d<double, host>(host{}).forward(
      {x.view(), p.numbers[0].view(), p.numbers[1].view(), p.numbers[2].view(), p.numbers[3].view(),
       p.numbers[4].view()},
      global.view(), lengths_of(p.lengths));
  store_columns(y, 0, layer_norm(local, p.weight, p.bias, norm_epsilon, p.lengths));
  store_columns(y, e.heads * e.channels,
                layer_norm(global, p.global_weight, p.global_bias, norm_epsilon, p.lengths));
  return y;
}

}  // namespace

TEST_CASE("its parts, and differences") {
  for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}}) {
    auto p = make_problem({2, 2, 7, 3}, 4, 2);
    p.lengths = lengths;
    auto const r = run<double>(p);
    index_t const terms = 7 + 3 + 2 * 2 * 3;  // keys, channels, twice the channels of a norm
    check_close(r.y, oracle(p), oracle_difference(terms + weight_roundings));
    auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
    check_gradient(loss, p.q, r.dq);
    check_gradient(loss, p.k, r.dk);
    check_gradient(loss, p.v, r.dv);
    check_gradient(loss, p.x, r.dx);
    check_gradient(loss, p.numbers[0], r.dlog_step);
    check_gradient(loss, p.numbers[1], r.dlog_decay);
    check_gradient(loss, p.numbers[2], r.dfrequency);
    check_gradient(loss, p.numbers[3], r.dc);
    check_gradient(loss, p.numbers[4], r.dskip);
    check_gradient(loss, p.weight, r.dweight);
    check_gradient(loss, p.bias, r.dbias);
    check_gradient(loss, p.global_weight, r.dglobal_weight);
    check_gradient(loss, p.global_bias, r.dglobal_bias);
  }
}

TEST_CASE("without norms, y is the outputs of both parts") {
  auto const p = make_problem({1, 2, 9, 4}, 3, 2);
  auto const state = random_tensor({1, 1, 1, 2}, 20), b = random_tensor({1, 2, 2, 3}, 21),
             c = random_tensor({1, 2, 3, 2}, 22);
  using state_space = recipes::s5<double, host>;
  recipes::s5_params<double> const params{p.x.view(),         state.view(), state.view(),
                                          state.view(),       b.view(),     c.view(),
                                          p.numbers[4].view()};
  owned<double> y(p.dy.shape), local(p.q.shape), global(p.x.shape);
  recipes::spade<double, host, state_space>(host{}, p.window)
      .forward({p.q.view(), p.k.view(), p.v.view(), params}, y.view());
  state_space(host{}).forward(params, global.view());
  ss::scratch memory;
  ss::softmax_attention(p.window).forward(host{}, {p.q.view(), p.k.view(), p.v.view()},
                                          local.view(), ss::no_saved, memory);
  for (index_t n = 0; n < 9; ++n) {
    for (index_t i = 0; i < 8; ++i) CHECK(y(0, 0, n, i) == local(0, i / 4, n, i % 4));
    for (index_t i = 0; i < 3; ++i) CHECK(y(0, 0, n, 8 + i) == global(0, 0, n, i));
  }
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: outputs of the parts, of norms, gradients of norms, of softmax, and results. Norms
  // double errors: deviations are at least 1/2.
  for (index_t length : {2, 63, 200}) {
    auto p = make_problem({2, 2, length, 8}, 5, 6);
    if (length > 2) p.lengths = {length / 2, length};
    check_rounded(run<T>(p), run<double>(p), 2 * 8, length + 2 * 6);
  }
}
