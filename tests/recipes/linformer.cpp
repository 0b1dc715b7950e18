// SPDX-License-Identifier: Apache-2.0
// The recipe linformer against golden values, a dense oracle, and differences.
#include "recipes/linformer.hpp"

#include "calls.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

struct problem {
  owned<double> q, k, v, e, f, dy;
  bool is_shared = false;  // e projects keys and values
  std::vector<index_t> lengths{};
};
// Projections have two columns more than the sequences are long.
problem make_problem(extents4 x, index_t rank, extents4 shared, bool is_shared) {
  extents4 const w{shared.batch, shared.heads, rank, x.length + 2};
  return {random_tensor(x, 1),
          random_tensor(x, 2),
          random_tensor(x, 3),
          random_tensor(w, 4),
          random_tensor(w, 5),
          random_tensor(x, 6),
          is_shared};
}

template <class T>
struct result {
  owned<T> y, dq, dk, dv, de, df;
};
template <class T>
result<T> run(problem const& p) {
  auto const q = convert<T>(p.q), e = convert<T>(p.e), f = convert<T>(p.f), dy = convert<T>(p.dy);
  auto k = convert<T>(p.k), v = convert<T>(p.v);
  fill_padding(k, p.lengths);
  fill_padding(v, p.lengths);
  result<T> r{nan_like(q), nan_like(q), nan_like(k), nan_like(v), nan_like(e), nan_like(f)};
  recipes::linformer_params<T> params{q.view(), k.view(), v.view(), e.view(), f.view()};
  recipes::linformer_grads<T> grads{r.dq.view(), r.dk.view(), r.dv.view(), r.de.view(),
                                    r.df.view()};
  if (p.is_shared) params.f = {}, grads.df = {};
  recipes::linformer<T, ss::exec::host> layer(ss::exec::host{2});
  layer.forward(params, r.y.view(), lengths_of(p.lengths));
  layer.backward(dy.view(), params, r.y.view(), grads);
  call_twice([&] { layer.backward(dy.view(), params, r.y.view(), grads); });
  return r;
}

owned<double> oracle(problem const& p) {
  extents4 const x = p.q.shape;
  index_t const rank = p.e.shape.length;
  owned<double> y(x);
  for (index_t b = 0; b < x.batch; ++b)
    for (index_t h = 0; h < x.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, x.length);
      matrix const e = matrix(p.e.view(), b, h).block(rank, n),
                   f = matrix((p.is_shared ? p.e : p.f).view(), b, h).block(rank, n);
      matrix const keys = e * matrix(p.k.view(), b, h, n), values = f * matrix(p.v.view(), b, h, n);
      store(y, b, h, attention_map(matrix(p.q.view(), b, h, n), keys) * values);
    }
  return y;
}

void check_all(problem p) {
  auto const r = run<double>(p);
  check_close(r.y, oracle(p), 1e-14);
  auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
  check_gradient(loss, p.q, r.dq);
  check_gradient(loss, p.k, r.dk);
  check_gradient(loss, p.v, r.dv);
  check_gradient(loss, p.e, r.de);
  if (!p.is_shared) check_gradient(loss, p.f, r.df);
}

}  // namespace

TEST_CASE("golden values") {
  problem p{golden_q(), golden_k(),  golden_v(), {{1, 1, 2, 4}, {1, 0, .5, 0, 0, 1, -.5, 1}},
            {},         golden_dy(), true};
  p.f = p.e;
  auto const r = run<double>(p);
  check_close(
      r.y,
      {p.q.shape,
       {.391140635, 3.5221484125, 1, 2, .391140635, 3.5221484125, 1.608859365, .4778515875}},
      1e-10);
  check_close(r.dq,
              {p.q.shape, {1.7799016793, 0, 1.767766953, 0, 1.5574139694, 0, -.8899508396, 0}},
              1e-10);
  check_close(r.dk,
              {p.q.shape,
               {-2.1136332442, -.7726396215, 2.1136332442, .7726396215, -2.1136332442, -.7726396215,
                2.1136332442, .7726396215}},
              1e-10);
  check_close(r.dv,
              {p.q.shape,
               {1.608859365, 1.0867109525, .391140635, 2.9132890475, .608859365, -.9132890475,
                .391140635, 2.9132890475}},
              1e-10);
  check_close(r.de,
              {p.e.shape,
               {-1.2774135007, -.4585682906, 3.4720014002, .6417257341, 3.2774135007, 4.4585682906,
                -3.4720014002, 13.3582742659}},
              1e-10);
}

TEST_CASE("dense oracle and differences") {
  for (extents4 shared : {extents4{1, 1, 0, 0}, extents4{1, 2, 0, 0}, extents4{2, 2, 0, 0}})
    for (bool is_shared : {true, false}) {
      auto p = make_problem({2, 2, 7, 3}, 4, shared, is_shared);
      check_all(p);
      p.lengths = {5, 7};
      check_all(p);
    }
}

TEST_CASE("heads of packed tensors") {
  check_packed(make_problem({2, 3, 9, 4}, 4, {1, 3, 0, 0}, false),
               [](problem const& p) { return run<double>(p); });
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: the projected keys twice (in scores below 1, and in gradients), the projected
  // values, y, which backward reads, gradients of the projected rows, and the result.
  for (index_t length : {1, 2, 63, 200}) {
    auto p = make_problem({2, 2, length, 16}, 8, {1, 2, 0, 0}, false);
    for (double& value : p.e.values) value /= 16;
    for (double& value : p.f.values) value /= 16;
    if (length > 2) p.lengths = {length / 2, length};
    check_rounded(run<T>(p), run<double>(p), 6, length + 16);
  }
}

TEST_CASE("the identity as projections gives softmax attention") {
  auto p = make_problem({1, 2, 6, 4}, 6, {1, 1, 0, 0}, true);
  for (index_t i = 0; i < 6; ++i)
    for (index_t j = 0; j < 8; ++j) p.e(0, 0, i, j) = i == j ? 1 : 0;
  auto const r = run<double>(p);
  owned<double> y(p.q.shape);
  ss::scratch memory;
  ss::softmax_attention<>().forward(ss::exec::host{}, {p.q.view(), p.k.view(), p.v.view()},
                                    y.view(), ss::no_saved, memory);
  CHECK(r.y.values == y.values);
}
