// SPDX-License-Identifier: Apache-2.0
// The recipe long_short against golden values, a dense oracle, and differences.
#include "recipes/long_short.hpp"

#include "allocations.hpp"
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

struct problem {
  owned<double> q, k, v, x, w, dy;
  ss::mask::window window{};
  std::vector<index_t> lengths{};
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

template <class T>
struct result {
  owned<T> y, dq, dk, dv, dx, dw;
};
template <class T>
result<T> run(problem const& p) {
  auto q = convert<T>(p.q), k = convert<T>(p.k), v = convert<T>(p.v), x = convert<T>(p.x),
       dy = convert<T>(p.dy);
  auto const w = convert<T>(p.w);
  for (auto* inputs : {&q, &k, &v, &x, &dy}) fill_padding(*inputs, p.lengths);
  result<T> r{owned<T>(v.shape, nan<T>()), owned<T>(q.shape, nan<T>()),
              owned<T>(k.shape, nan<T>()), owned<T>(v.shape, nan<T>()),
              owned<T>(x.shape, nan<T>()), owned<T>(w.shape, nan<T>())};
  recipes::long_short_params<T> const params{q.view(), k.view(), v.view(), x.view(), w.view()};
  recipes::long_short<T, ss::exec::host> layer(ss::exec::host{2}, p.window);
  layer.forward(params, r.y.view(), lengths_of(p.lengths));
  call_twice([&] {
    layer.backward(dy.view(), params, r.y.view(),
                   {r.dq.view(), r.dk.view(), r.dv.view(), r.dx.view(), r.dw.view()});
  });
  return r;
}

// One softmax over the projected keys and those of the window.
owned<double> oracle(problem const& p) {
  extents4 const e = p.v.shape;
  index_t const rank = p.w.shape.channels;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, e.length);
      matrix const q(p.q.view(), b, h, n), k(p.k.view(), b, h, n), v(p.v.view(), b, h, n),
          projection =
              softmax_rows(transposed(matrix(p.x.view(), b, 0, n) * matrix(p.w.view(), 0, h))),
          long_scores = default_scale(q) * (q * transposed(projection * k)),
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
      store(y, b, h, weights.block(n, rank) * (projection * v) + local * v);
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

TEST_CASE("heads of packed tensors") {
  auto const p = make_problem({2, 3, 9, 4}, 5, 6, 2, {2, 1});
  auto const r = run<double>(p);
  packed<double> q(p.q), k(p.k), v(p.v), dy(p.dy), y(p.v), dq(p.q), dk(p.k), dv(p.v);
  owned<double> dx(p.x.shape), dw(p.w.shape);
  recipes::long_short_params<double> const params{q.view(), k.view(), v.view(), p.x.view(),
                                                  p.w.view()};
  recipes::long_short<double, ss::exec::host> layer(ss::exec::host{}, p.window);
  layer.forward(params, y.view());
  layer.backward(dy.view(), params, y.view(),
                 {dq.view(), dk.view(), dv.view(), dx.view(), dw.view()});
  CHECK(y.contents().values == r.y.values);
  CHECK(dq.contents().values == r.dq.values);
  CHECK(dk.contents().values == r.dk.values);
  CHECK(dv.contents().values == r.dv.values);
  CHECK(dx.values == r.dx.values);
  CHECK(dw.values == r.dw.values);
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: logits, projected rows, y of a part, y, gradients of projected rows, of logits from
  // keys and from values, and the result. The logits of one row have no gradient.
  for (index_t length : {2, 63, 200}) {
    auto p = make_problem({2, 2, length, 16}, 8, 8, 4, {5, 4});
    if (length > 2) p.lengths = {length / 2, length};
    check_rounded(run<T>(p), run<double>(p), 8, length + 16);
  }
}
