// SPDX-License-Identifier: Apache-2.0
// The recipe sinkformer against golden values, a dense oracle, and differences.
#include "recipes/sinkformer.hpp"

#include "allocations.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/sinkhorn.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

struct problem {
  owned<double> q, k, v, dy;
  index_t half_steps = 3;
  std::vector<index_t> lengths{};
};
problem make_problem(extents4 e, index_t values, index_t half_steps) {
  extents4 const v{e.batch, e.heads, e.length, values};
  return {random_tensor(e, 1), random_tensor(e, 2), random_tensor(v, 3), random_tensor(v, 4),
          half_steps};
}

template <class T>
struct result {
  owned<T> y, dq, dk, dv;
};
template <class T>
result<T> run(problem const& p) {
  auto q = convert<T>(p.q), k = convert<T>(p.k), v = convert<T>(p.v), dy = convert<T>(p.dy);
  for (auto* inputs : {&q, &k, &v, &dy}) fill_padding(*inputs, p.lengths);
  result<T> r{owned<T>(v.shape, nan<T>()), owned<T>(q.shape, nan<T>()), owned<T>(k.shape, nan<T>()),
              owned<T>(v.shape, nan<T>())};
  recipes::sinkformer_params<T> const params{q.view(), k.view(), v.view()};
  recipes::sinkformer<T, ss::exec::host> layer(ss::exec::host{2}, p.half_steps);
  layer.forward(params, r.y.view(), lengths_of(p.lengths));
  call_twice([&] {
    layer.backward(dy.view(), params, r.y.view(), {r.dq.view(), r.dk.view(), r.dv.view()});
  });
  return r;
}

// Normalizes rows and columns in turn, rows first and last, without logarithms.
matrix normalized(matrix map, index_t half_steps) {
  for (index_t step = 0; step < half_steps; ++step) {
    if (step % 2 == 1) map = transposed(map);
    for (index_t i = 0; i < map.rows; ++i) {
      double sum = 0;
      for (index_t j = 0; j < map.columns; ++j) sum += map(i, j);
      for (index_t j = 0; j < map.columns; ++j) map(i, j) /= sum;
    }
    if (step % 2 == 1) map = transposed(map);
  }
  return map;
}
owned<double> oracle(problem const& p) {
  extents4 const e = p.v.shape;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, e.length);
      matrix const q(p.q.view(), b, h, n), k(p.k.view(), b, h, n), v(p.v.view(), b, h, n);
      matrix map = default_scale(q) * (q * transposed(k));
      for (double& score : map.values) score = std::exp(score);
      store(y, b, h, normalized(map, p.half_steps) * v);
    }
  return y;
}

}  // namespace

TEST_CASE("golden values") {
  problem p{golden_q(), golden_k(), golden_v(), golden_dy(), 1};
  auto const check_y = [&](index_t half_steps, std::initializer_list<double> y) {
    p.half_steps = half_steps;
    check_close(run<double>(p).y, {p.q.shape, y}, 1e-10);
  };
  check_y(5, {1.0093208567, 1.606044529, 1.0340664042, .3148898173, .9088050163, 1.0742053117,
              1.0489963087, -.0193317617});
  check_y(3, {1.0096548307, 1.5877175743, 1.0346910068, .3045498292, .9070233308, 1.0587064397,
              1.049501492, -.0208900849});
  auto const r = run<double>(p);
  check_close(r.dq,
              {p.q.shape,
               {.8706013118, -.4339719805, .4316226021, .1753103887, .1080670946, .3456456689,
                -.605929653, -.6341390451}},
              1e-9);
  check_close(r.dk,
              {p.q.shape,
               {-.1623189044, .3320487738, .8866685172, -.8945583137, -1.0652053965, .709745821,
                .3408557836, -.147236281}},
              1e-9);
  check_close(r.dv,
              {p.q.shape,
               {.1107889333, 1.1954564162, .7289773833, .6718072229, .9306118672, .632831222,
                .2296218162, 1.4999051389}},
              1e-9);
}

TEST_CASE("dense oracle and differences") {
  for (index_t half_steps : {1, 3, 7})
    for (auto const& lengths : {std::vector<index_t>{}, {6, 4}, {1, 0}}) {
      auto p = make_problem({2, 2, 6, 3}, 4, half_steps);
      p.lengths = lengths;
      auto const r = run<double>(p);
      check_close(r.y, oracle(p), 1e-14);
      auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
      check_gradient(loss, p.q, r.dq);
      check_gradient(loss, p.k, r.dk);
      check_gradient(loss, p.v, r.dv);
    }
}

TEST_CASE("heads of packed tensors") {
  auto const p = make_problem({2, 3, 9, 4}, 5, 3);
  auto const r = run<double>(p);
  packed<double> q(p.q), k(p.k), v(p.v), dy(p.dy), y(p.v), dq(p.q), dk(p.k), dv(p.v);
  recipes::sinkformer_params<double> const params{q.view(), k.view(), v.view()};
  recipes::sinkformer<double, ss::exec::host> layer(ss::exec::host{});
  layer.forward(params, y.view());
  layer.backward(dy.view(), params, y.view(), {dq.view(), dk.view(), dv.view()});
  CHECK(y.contents().values == r.y.values);
  CHECK(dq.contents().values == r.dq.values);
  CHECK(dk.contents().values == r.dk.values);
  CHECK(dv.contents().values == r.dv.values);
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: scores, map, y, gradients of the map and of the scores, and the result.
  for (index_t length : {2, 63, 200}) {
    auto p = make_problem({2, 2, length, 16}, 8, 3);
    if (length > 2) p.lengths = {length / 2, length};
    check_rounded(run<T>(p), run<double>(p), 6, length + 16);
  }
}
