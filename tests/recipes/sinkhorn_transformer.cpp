// SPDX-License-Identifier: Apache-2.0
// The recipes sinkhorn_transformer and sort_net against golden values, dense oracles, and
// differences.
#include "recipes/sinkhorn_transformer.hpp"

#include "calls.hpp"
#include "check.hpp"
#include "recipes/sort_net.hpp"
#include "recipes/sorted_blocks.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/sinkhorn.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace recipe_checks;
using recipes::joined_by;
using slicesort::bfloat16;

namespace {

struct problem {
  owned<double> q, k, v, logits, dy;
  index_t block = 1;
  joined_by join = joined_by::softmax;
  std::vector<index_t> lengths{};
};
index_t blocks_of(index_t rows, index_t block) { return (rows + block - 1) / block; }
problem make_problem(extents4 e, index_t values, index_t block, joined_by join) {
  extents4 const v{e.batch, e.heads, e.length, values};
  index_t const blocks = blocks_of(e.length, block);
  return {random_tensor(e, 1),
          random_tensor(e, 2),
          random_tensor(v, 3),
          random_tensor({e.batch, e.heads, blocks, blocks}, 4),
          random_tensor(v, 5),
          block,
          join};
}

template <class T>
struct result {
  owned<T> y, dq, dk, dv, dlogits;
};
template <class T>
result<T> run(problem const& p) {
  auto q = convert<T>(p.q), k = convert<T>(p.k), v = convert<T>(p.v), dy = convert<T>(p.dy);
  auto const logits = convert<T>(p.logits);
  for (auto* inputs : {&q, &k, &v, &dy}) fill_padding(*inputs, p.lengths);
  result<T> r{nan_like(v), nan_like(q), nan_like(k), nan_like(v), nan_like(logits)};
  call(recipes::sinkhorn_transformer<T, ss::exec::host>(ss::exec::host{2}, p.block, p.join),
       {q.view(), k.view(), v.view(), logits.view()},
       {r.dq.view(), r.dk.view(), r.dv.view(), r.dlogits.view()}, dy, r.y, p.lengths);
  return r;
}

// exp(logits / 0.75) after 8 normalizations of the rows and then of the columns.
matrix doubly_stochastic(matrix map) {
  for (double& logit : map.values) logit = std::exp(logit / .75);
  for (int step = 0; step < 16; ++step) {
    matrix sums(map.rows, map.columns);
    for (index_t i = 0; i < map.rows; ++i)
      for (index_t j = 0; j < map.columns; ++j)
        for (index_t l = 0; l < map.rows; ++l) sums(i, j) += step % 2 == 0 ? map(i, l) : map(l, j);
    for (std::size_t i = 0; i < map.values.size(); ++i) map.values[i] /= sums.values[i];
  }
  return map;
}
// Row t of sorted block u is the mixture of rows t of all blocks.
matrix sorted_rows(matrix const& map, matrix const& x, index_t block) {
  matrix result(map.rows * block, x.columns);
  for (index_t u = 0; u < map.rows; ++u)
    for (index_t row = 0; row < x.rows; ++row)
      for (index_t c = 0; c < x.columns; ++c)
        result(u * block + row % block, c) += map(u, row / block) * x(row, c);
  return result;
}
// Scores of the keys in the block of each query.
matrix block_scores(matrix const& q, matrix const& k, index_t block) {
  matrix scores = default_scale(q) * (q * transposed(k));
  for (index_t i = 0; i < scores.rows; ++i)
    for (index_t j = 0; j < scores.columns; ++j)
      if (i / block != j / block) scores(i, j) = -HUGE_VAL;
  return scores;
}
owned<double> oracle(problem const& p) {
  extents4 const e = p.v.shape;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, e.length), blocks = blocks_of(n, p.block);
      matrix const q(p.q.view(), b, h, n), k(p.k.view(), b, h, n), v(p.v.view(), b, h, n),
          map = doubly_stochastic(matrix(p.logits.view(), b, h).block(blocks, blocks)),
          sorted_k = sorted_rows(map, k, p.block), sorted_v = sorted_rows(map, v, p.block),
          scores = block_scores(q, k, p.block), sorted_scores = block_scores(q, sorted_k, p.block);
      if (p.join == joined_by::sum) {
        store(y, b, h, softmax_rows(scores) * v + softmax_rows(sorted_scores) * sorted_v);
        continue;
      }
      matrix keys(n, n + sorted_k.rows), values(n + sorted_v.rows, v.columns);
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < keys.columns; ++j)
          keys(i, j) = j < n ? scores(i, j) : sorted_scores(i, j - n);
      for (index_t j = 0; j < values.rows; ++j)
        for (index_t c = 0; c < v.columns; ++c) values(j, c) = j < n ? v(j, c) : sorted_v(j - n, c);
      store(y, b, h, softmax_rows(keys) * values);
    }
  return y;
}

struct net_problem {
  owned<double> k, w, dlogits;
  index_t block = 1;
  std::vector<index_t> lengths{};
};
template <class T>
struct net_result {
  owned<T> logits, dk, dw;
};
template <class T>
net_result<T> run(net_problem const& p) {
  auto k = convert<T>(p.k);
  auto const w = convert<T>(p.w), dlogits = convert<T>(p.dlogits);
  fill_padding(k, p.lengths);
  net_result<T> r{nan_like(dlogits), nan_like(k), nan_like(w)};
  recipes::sort_net<T, ss::exec::host> net(ss::exec::host{2}, p.block);
  net.forward({k.view(), w.view()}, r.logits.view(), lengths_of(p.lengths));
  call_twice([&] {
    net.backward(dlogits.view(), {k.view(), w.view()}, {r.dk.view(), r.dw.view()});
  });
  return r;
}
owned<double> oracle(net_problem const& p) {
  extents4 const e = p.dlogits.shape;
  owned<double> logits(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      index_t const n = valid_rows(p.lengths, b, p.k.shape.length);
      matrix membership(e.length, n);
      for (index_t row = 0; row < n; ++row) membership(row / p.block, row) = 1;
      matrix const w(p.w.view(), 0, h);
      store(logits, b, h, membership * matrix(p.k.view(), b, h, n) * w.block(w.rows, e.length));
    }
  return logits;
}

problem golden_problem(joined_by join) {
  extents4 const e{1, 1, 8, 2};
  problem p{owned<double>(e),
            owned<double>(e),
            owned<double>(e),
            {{1, 1, 4, 4}, {0, 1, 2, 0, 2, 0, 0, 1, 0, 0, 1, 3, 1, 2, 0, 0}},
            owned<double>(e),
            2,
            join};
  for (int i = 0; i < 8; ++i)
    for (int c = 0; c < 2; ++c) {
      p.q(0, 0, i, c) = ((3 * i + 5 * c) % 7 - 3) / 2.0;
      p.k(0, 0, i, c) = ((5 * i + 2 * c) % 7 - 3) / 2.0;
      p.v(0, 0, i, c) = ((2 * i + 3 * c) % 5 - 2) / 2.0;
    }
  return p;
}

}  // namespace

TEST_CASE("golden values") {
  auto p = golden_problem(joined_by::softmax);
  check_close(run<double>(p).y,
              {p.v.shape,
               {-.8634202351, .4367124034, -.163902849, -.3992379836, .3361969302, -.1225625773,
                -.2591660406, .021424803, .0666924122, -.2556505632, -.2990466378, .0432157748,
                .263526868, -.0536389743, .418721479, -.1509611699}},
              1e-9);
  p.join = joined_by::sum;
  check_close(run<double>(p).y,
              {p.v.shape,
               {-1.6379498394, .8623117745, -.133749554, -.6755055407, .604044617, -.3038221013,
                -.4855387319, .5317416652, .28399534, -.719774459, -.5682330671, .0670075284,
                .5594652198, -.1684570897, .7224226466, -.1236506235}},
              1e-9);
}

TEST_CASE("dense oracle and differences") {
  for (joined_by join : {joined_by::softmax, joined_by::sum})
    for (index_t block : {1, 2, 3, 20})
      for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}}) {
        auto p = make_problem({2, 2, 7, 3}, 4, block, join);
        p.lengths = lengths;
        auto const r = run<double>(p);
        check_close(r.y, oracle(p), 1e-14);
        auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
        check_gradient(loss, p.q, r.dq);
        check_gradient(loss, p.k, r.dk);
        check_gradient(loss, p.v, r.dv);
        // One block has the weight 1.
        if (block < 20) check_gradient(loss, p.logits, r.dlogits);
      }
}

TEST_CASE("heads of packed tensors") {
  check_packed(make_problem({2, 3, 9, 4}, 5, 2, joined_by::softmax),
               [](problem const& p) { return run<double>(p); });
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: map, sorted rows, y of a part, y, gradients of sorted rows, of the map from keys and
  // from values, and the result.
  for (joined_by join : {joined_by::softmax, joined_by::sum})
    for (index_t length : {20, 63, 200}) {
      auto p = make_problem({2, 2, length, 16}, 8, 8, join);
      p.lengths = {length / 2, length};
      check_rounded(run<T>(p), run<double>(p), 8, length + 16);
    }
}

TEST_CASE("logits of the sorting network") {
  for (index_t heads : {1, 2})
    for (index_t block : {1, 3, 7})
      for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}}) {
        index_t const blocks = blocks_of(7, block);
        net_problem p{random_tensor({2, 2, 7, 3}, 1), random_tensor({1, heads, 3, 8}, 2),
                      random_tensor({2, 2, blocks, blocks}, 3), block, lengths};
        auto const r = run<double>(p);
        check_close(r.logits, oracle(p), 1e-14);
        auto const loss = [&] { return weighted_sum(oracle(p), p.dlogits); };
        check_gradient(loss, p.k, r.dk);
        check_gradient(loss, p.w, r.dw);
      }
}

TEST_CASE("the layer of the sorting network and the attention") {
  auto p = make_problem({2, 2, 7, 3}, 3, 2, joined_by::softmax);
  p.lengths = {7, 4};
  auto w = random_tensor({1, 2, 3, 4}, 6);
  p.logits = run<double>(net_problem{p.k, w, p.logits, p.block, p.lengths}).logits;
  auto const expected = run<double>(p);

  owned<double> y(p.v.shape), dq(p.q.shape), dk(p.k.shape), dv(p.v.shape), dw(w.shape);
  recipes::sorted_blocks<double, ss::exec::host> layer(ss::exec::host{}, p.block);
  auto const forward = [&] {
    layer.forward({p.q.view(), p.k.view(), p.v.view(), w.view()}, y.view(), lengths_of(p.lengths));
    return weighted_sum(y, p.dy);
  };
  forward();
  call_twice([&] {
    layer.backward(p.dy.view(), {p.q.view(), p.k.view(), p.v.view(), w.view()}, y.view(),
                   {dq.view(), dk.view(), dv.view(), dw.view()});
  });
  CHECK(y.values == expected.y.values);
  CHECK(dq.values == expected.dq.values);
  CHECK(dv.values == expected.dv.values);
  check_gradient(forward, p.k, dk);
  check_gradient(forward, w, dw);
}
