// SPDX-License-Identifier: Apache-2.0
// The recipe long_short against golden values, a dense oracle, and differences.
#include "recipes/long_short.hpp"

#include "calls.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

constexpr double norm_epsilon = 0.25;  // not next to nothing, so that the tests show it

struct problem {
  owned<double> q, k, v, x, w, dy;
  ss::mask::window window{};
  std::vector<index_t> lengths{};
  // LayerNorms of keys and values, and of projected ones; empty: none
  owned<double> weight{}, bias{}, projected_weight{}, projected_bias{};

  bool has_norms() const { return !weight.values.empty(); }
};
problem make_problem(extents4 e, index_t values, index_t width, index_t rank,
                     ss::mask::window window) {
  extents4 const v{e.batch, e.heads, e.length, values};
  return {random_tensor(e, 1),
          random_tensor(e, 2),
          random_tensor(v, 3),
          random_tensor({e.batch, 1, e.length, width}, 4),
          random_tensor({1, e.heads, width, rank}, 5),
          random_tensor(v, 6),
          window};
}
problem with_norms(problem p) {
  extents4 const e{1, p.v.shape.heads, 1, p.v.shape.channels};
  p.weight = random_tensor(e, 7), p.bias = random_tensor(e, 8);
  p.projected_weight = random_tensor(e, 9), p.projected_bias = random_tensor(e, 10);
  return p;
}

template <class T>
struct result {
  owned<T> y, dq, dk, dv, dx, dw, dweight, dbias, dprojected_weight, dprojected_bias;
};
template <class T>
result<T> run(problem const& p) {
  auto q = convert<T>(p.q), k = convert<T>(p.k), v = convert<T>(p.v), x = convert<T>(p.x),
       dy = convert<T>(p.dy);
  auto const w = convert<T>(p.w), weight = convert<T>(p.weight), bias = convert<T>(p.bias),
             projected_weight = convert<T>(p.projected_weight),
             projected_bias = convert<T>(p.projected_bias);
  for (auto* inputs : {&q, &k, &v, &x, &dy}) fill_padding(*inputs, p.lengths);
  result<T> r{nan_like(v), nan_like(q),      nan_like(k),    nan_like(v),      nan_like(x),
              nan_like(w), nan_like(weight), nan_like(bias), nan_like(weight), nan_like(bias)};
  recipes::long_short_params<T> params{q.view(), k.view(), v.view(), x.view(), w.view()};
  recipes::long_short_grads<T> grads{r.dq.view(), r.dk.view(), r.dv.view(), r.dx.view(),
                                     r.dw.view()};
  if (p.has_norms()) {
    params.norm = {weight.view(), bias.view()};
    params.projected_norm = {projected_weight.view(), projected_bias.view()};
    grads.dnorm = {r.dweight.view(), r.dbias.view()};
    grads.dprojected_norm = {r.dprojected_weight.view(), r.dprojected_bias.view()};
  }
  call(recipes::long_short<T, ss::exec::host>(ss::exec::host{2}, p.window, norm_epsilon), params,
       grads, dy, r.y, p.lengths);
  return r;
}

// Means of the valid rows of x, weighted by a softmax along the sequence.
owned<double> projected(problem const& p, owned<double> const& rows) {
  extents4 const e = rows.shape;
  owned<double> y({e.batch, e.heads, p.w.shape.channels, e.channels});
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, e.length);
      if (n == 0) continue;
      matrix const logits = matrix(p.x.view(), b, 0, n) * matrix(p.w.view(), 0, h);
      store(y, b, h, softmax_rows(transposed(logits)) * matrix(rows.view(), b, h, n));
    }
  return y;
}

// One softmax over the projected keys and those of the window.
owned<double> oracle(problem const& p) {
  extents4 const e = p.v.shape;
  index_t const rank = p.w.shape.channels;
  owned<double> k_rows = p.k, v_rows = p.v, y(e);
  if (p.has_norms()) {
    k_rows = layer_norm(p.k, p.weight, p.bias, norm_epsilon, p.lengths);
    v_rows = layer_norm(p.v, p.weight, p.bias, norm_epsilon, p.lengths);
  }
  owned<double> keys = projected(p, k_rows), values = projected(p, v_rows);
  if (p.has_norms()) {
    keys = layer_norm(keys, p.projected_weight, p.projected_bias, norm_epsilon);
    values = layer_norm(values, p.projected_weight, p.projected_bias, norm_epsilon);
  }
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, e.length);
      matrix const q(p.q.view(), b, h, n), k(k_rows.view(), b, h, n), v(v_rows.view(), b, h, n),
          long_scores = default_scale(q) * (q * transposed(matrix(keys.view(), b, h))),
          scores = default_scale(q) * (q * transposed(k));
      matrix joint(n, rank + n);
      for (index_t i = 0; i < n; ++i) {
        for (index_t j = 0; j < rank; ++j) joint(i, j) = long_scores(i, j);
        for (index_t j = 0; j < n; ++j) {
          bool const is_visible = -p.window.left <= j - i && j - i <= p.window.right;
          joint(i, rank + j) = is_visible ? scores(i, j) : -HUGE_VAL;
        }
      }
      matrix const weights = softmax_rows(joint);
      matrix local(n, n);
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) local(i, j) = weights(i, rank + j);
      store(y, b, h, weights.block(n, rank) * matrix(values.view(), b, h) + local * v);
    }
  return y;
}

}  // namespace

TEST_CASE("golden values") {
  // x = I, so that the logits are w.
  problem const p{golden_q(),
                  golden_k(),
                  golden_v(),
                  {{1, 1, 4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
                  {{1, 1, 4, 2}, {0, 1, 1, 0, 2, 0, 0, 1}},
                  golden_dy(),
                  {1, 1}};
  check_close(run<double>(p).y,
              {p.q.shape,
               {.8785682801, .5294599468, .8994456098, .301999518, .8298469757, 1.3189064322,
                1.6541374071, -.4137470814}},
              1e-10);
}

TEST_CASE("dense oracle and differences") {
  for (ss::mask::window window : {ss::mask::window{1, 2}, {0, 0}, {3, 0}, {9, 9}})
    for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}}) {
      auto p = make_problem({2, 2, 7, 3}, 4, 5, 2, window);
      p.lengths = lengths;
      auto const r = run<double>(p);
      check_close(r.y, oracle(p), 1e-14);
      auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
      check_gradient(loss, p.q, r.dq);
      check_gradient(loss, p.k, r.dk);
      check_gradient(loss, p.v, r.dv);
      check_gradient(loss, p.x, r.dx);
      check_gradient(loss, p.w, r.dw);
    }
}

TEST_CASE("norms of keys and values, and of projected ones") {
  auto p = with_norms(make_problem({2, 2, 7, 4}, 4, 5, 2, {1, 2}));
  p.lengths = {7, 4};
  auto const r = run<double>(p);
  index_t const terms = 7 + 5 + 4 + 2 * 2 * 4;  // keys, their projections, channels, norms
  check_close(r.y, oracle(p), oracle_difference(terms + weight_roundings));
  auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
  check_gradient(loss, p.q, r.dq);
  check_gradient(loss, p.k, r.dk);
  check_gradient(loss, p.v, r.dv);
  check_gradient(loss, p.x, r.dx);
  check_gradient(loss, p.w, r.dw);
  check_gradient(loss, p.weight, r.dweight);
  check_gradient(loss, p.bias, r.dbias);
  check_gradient(loss, p.projected_weight, r.dprojected_weight);
  check_gradient(loss, p.projected_bias, r.dprojected_bias);
}

TEST_CASE("heads of packed tensors") {
  check_packed(with_norms(make_problem({2, 3, 9, 4}, 4, 6, 2, {2, 1})),
               [](problem const& p) { return run<double>(p); });
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: logits, projected rows, y of a part, y, gradients of projected rows, of logits from
  // keys and from values, and the result. The logits of one row have no gradient.
  for (index_t length : {2, 63, 200}) {
    auto p = make_problem({2, 2, length, 16}, 8, 8, 4, {5, 4});
    if (length > 2) p.lengths = {length / 2, length};
    check_rounded(run<T>(p), run<double>(p), 8, length + 16);
  }
  // Norms round their results and gradients. They double errors: deviations are at least 1/2.
  auto p = with_norms(make_problem({2, 2, 63, 16}, 16, 8, 4, {5, 4}));
  p.lengths = {31, 63};
  check_rounded(run<T>(p), run<double>(p), 2 * 12, 63 + 16);
}
