// SPDX-License-Identifier: Apache-2.0
// The recipe synthesizer against golden values, a dense oracle, and differences.
#include "recipes/synthesizer.hpp"
#include "recipes/synthesizer_maps.hpp"

#include "calls.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

struct problem {
  owned<double> q, k, v, map, dy;
  std::vector<index_t> lengths{};
};
problem make_problem(extents4 e, bool shared_map) {
  extents4 const map{shared_map ? 1 : e.batch, shared_map ? 1 : e.heads, e.length, e.length};
  return {random_tensor(e, 1), random_tensor(e, 2), random_tensor(e, 3), random_tensor(map, 4),
          random_tensor(e, 5)};
}

template <class T>
struct result {
  owned<T> y, dq, dk, dv, dmap;
};
template <class T>
result<T> run(problem const& p, bool compare_rows) {
  auto const q = convert<T>(p.q), k = convert<T>(p.k), v = convert<T>(p.v), map = convert<T>(p.map),
             dy = convert<T>(p.dy);
  result<T> r{nan_like(v), nan_like(q), nan_like(k), nan_like(v), nan_like(map)};
  recipes::synthesizer_params<T> params{{}, {}, v.view(), map.view()};
  recipes::synthesizer_grads<T> grads{{}, {}, r.dv.view(), r.dmap.view()};
  if (compare_rows) {
    params.q = q.view(), params.k = k.view();
    grads.dq = r.dq.view(), grads.dk = r.dk.view();
  }
  call(recipes::synthesizer<T, ss::exec::host>(ss::exec::host{}), params, grads, dy, r.y,
       p.lengths);
  return r;
}

owned<double> oracle(problem const& p, bool compare_rows) {
  extents4 const e = p.v.shape;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, e.length);
      matrix scores = matrix(p.map.view(), b, h).block(n, n);
      if (compare_rows) {
        matrix const q(p.q.view(), b, h, n), k(p.k.view(), b, h, n);
        scores = scores + default_scale(q) * (q * transposed(k));
      }
      store(y, b, h, softmax_rows(scores) * matrix(p.v.view(), b, h, n));
    }
  return y;
}

void check_all(problem p, bool compare_rows) {
  auto const expected = run<double>(p, compare_rows);
  check_close(expected.y, oracle(p, compare_rows), 1e-14);
  auto const loss = [&] { return weighted_sum(oracle(p, compare_rows), p.dy); };
  if (compare_rows) {
    check_gradient(loss, p.q, expected.dq);
    check_gradient(loss, p.k, expected.dk);
  }
  check_gradient(loss, p.v, expected.dv);
  check_gradient(loss, p.map, expected.dmap);
}

}  // namespace

TEST_CASE("golden values") {
  extents4 const e{1, 1, 4, 2};
  problem const p{golden_q(),
                  golden_k(),
                  golden_v(),
                  {{1, 1, 4, 4}, {0, 1, 0, -1, 1, 0, .5, 0, 0, 0, 2, 1, -1, 1, 0, 0}},
                  golden_dy()};
  auto const alone = run<double>(p, false), with_rows = run<double>(p, true);
  check_close(alone.y,
              {e,
               {.6621652879, .5548231765, 1.1018880093, .3692912808, 1.527701146, .1458445611,
                .6621652879, .9276705119}},
              1e-10);
  check_close(with_rows.y,
              {e,
               {.670467959, 1.0017930953, .9449211057, .2698242435, 1.1222473822, 1.1295162047,
                .3194690216, .6937148238}},
              1e-10);
  check_close(with_rows.dmap,
              {{1, 1, 4, 4},
               {-.5027917094, -.2713409252, -.1952556714, .969388306, -.1064806113, .21498842,
                -.3039386575, .1954308488, -.1546151226, .1523836033, -.8292445896, .8314761088,
                .0183561661, -.5311650772, .5068275677, .0059813434}},
              1e-9);
}

TEST_CASE("dense oracle and differences") {
  for (bool shared_map : {true, false})
    for (bool compare_rows : {false, true}) {
      auto p = make_problem({2, 3, 5, 4}, shared_map);
      check_all(p, compare_rows);
      p.lengths = {3, 5};
      check_all(p, compare_rows);
    }
}

TEST_CASE("factorized map") {
  auto a = random_tensor({1, 2, 6, 3}, 1), b = random_tensor({1, 2, 6, 3}, 2);
  auto const dmap = random_tensor({1, 2, 6, 6}, 3);
  recipes::factorized_map<double, ss::exec::host> layer(ss::exec::host{});
  owned<double> map(dmap.shape), da(a.shape), db(b.shape);
  auto const forward = [&] {
    layer.forward({a.view(), b.view()}, map.view());
    return weighted_sum(map, dmap);
  };
  forward();
  owned<double> expected(map.shape);
  for (index_t h = 0; h < 2; ++h)
    store(expected, 0, h, matrix(a.view(), 0, h) * transposed(matrix(b.view(), 0, h)));
  check_close(map, expected, 1e-15);
  call_twice([&] { layer.backward(dmap.view(), {a.view(), b.view()}, {da.view(), db.view()}); });
  check_gradient(forward, a, da);
  check_gradient(forward, b, db);
}

TEST_CASE("dense map") {
  std::vector<index_t> const lengths{3, 5};
  auto x = random_tensor({2, 1, 5, 3}, 1), w1 = random_tensor({1, 2, 3, 4}, 2),
       w2 = random_tensor({1, 2, 4, 7}, 3);
  for (double& value : w1.values) value += .03;  // keeps relu away from 0
  auto dmap = random_tensor({2, 2, 5, 5}, 4);
  for (index_t h = 0; h < 2; ++h)
    for (index_t i = 3; i < 5; ++i)
      for (index_t j = 0; j < 5; ++j) dmap(0, h, i, j) = 0;  // as attention's gradient is
  auto const oracle_map = [&] {
    owned<double> map(dmap.shape);
    for (index_t b = 0; b < 2; ++b)
      for (index_t h = 0; h < 2; ++h) {
        index_t const n = valid_rows(lengths, b, 5);
        matrix hidden = matrix(x.view(), b, 0, n) * matrix(w1.view(), 0, h);
        for (double& value : hidden.values) {
          REQUIRE(std::fabs(value) > 0x1p-7);
          value = std::max(value, 0.0);
        }
        store(map, b, h, hidden * matrix(w2.view(), 0, h).block(4, 5));
      }
    return map;
  };
  auto padded = x;
  fill_padding(padded, lengths);
  owned<double> map(dmap.shape, nan<double>()), dx(x.shape, nan<double>()),
      dw1(w1.shape, nan<double>()), dw2(w2.shape, nan<double>());
  recipes::dense_map<double, ss::exec::host> layer(ss::exec::host{});
  recipes::dense_map_params<double> const params{padded.view(), w1.view(), w2.view()};
  layer.forward(params, map.view(), lengths_of(lengths));
  call_twice([&] { layer.backward(dmap.view(), params, {dx.view(), dw1.view(), dw2.view()}); });
  check_close(map, oracle_map(), 1e-15);
  auto const loss = [&] { return weighted_sum(oracle_map(), dmap); };
  check_gradient(loss, x, dx);
  check_gradient(loss, w1, dw1);
  check_gradient(loss, w2, dw2);
}

TEST_CASE("a layer of a map and the attention") {
  using map_type = recipes::factorized_map<double, ss::exec::host>;
  auto p = make_problem({2, 2, 6, 4}, false);
  p.lengths = {4, 6};
  auto a = random_tensor({1, 2, 6, 3}, 6), b = random_tensor({1, 2, 6, 3}, 7);
  p.map = owned<double>({1, 2, 6, 6});
  map_type(ss::exec::host{}).forward({a.view(), b.view()}, p.map.view());
  auto const expected = run<double>(p, true);

  owned<double> y(p.v.shape), dq(p.q.shape), dk(p.k.shape), dv(p.v.shape), da(a.shape), db(b.shape);
  recipes::mapped_synthesizer<double, ss::exec::host, map_type> layer(ss::exec::host{});
  auto const forward = [&] {
    layer.forward({p.q.view(), p.k.view(), p.v.view(), {a.view(), b.view()}}, y.view(),
                  lengths_of(p.lengths));
    return weighted_sum(y, p.dy);
  };
  forward();
  call_twice([&] {
    layer.backward(p.dy.view(), {p.q.view(), p.k.view(), p.v.view(), {a.view(), b.view()}},
                   y.view(), {dq.view(), dk.view(), dv.view(), {da.view(), db.view()}});
  });
  CHECK(y.values == expected.y.values);
  CHECK(dq.values == expected.dq.values);
  CHECK(dk.values == expected.dk.values);
  CHECK(dv.values == expected.dv.values);
  check_gradient(forward, a, da);
  check_gradient(forward, b, db);
}

TEST_CASE("heads of packed tensors") {
  check_packed(make_problem({2, 3, 9, 4}, false),
               [](problem const& p) { return run<double>(p, true); });
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: y, which backward reads, and the result.
  for (index_t length : {1, 2, 65, 200}) {
    auto p = make_problem({2, 2, length, 8}, false);
    if (length > 2) p.lengths = {length / 2, length};
    check_rounded(run<T>(p, true), run<double>(p, true), 2, length + 8);
  }
}
