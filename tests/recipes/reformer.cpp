// SPDX-License-Identifier: Apache-2.0
// The recipe reformer against golden values, a dense oracle, and differences.
#include "recipes/reformer.hpp"

#include "calls.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

struct problem {
  owned<double> x, v, rotations, dy;
  index_t chunk = 1;
  bool causal = false;
  std::vector<index_t> lengths{};

  index_t valid(index_t b) const { return valid_rows(lengths, b, v.shape.length); }
};

template <class T>
struct result {
  owned<T> y, dx, dv;
};
template <class T>
result<T> run(problem const& p) {
  auto x = convert<T>(p.x), v = convert<T>(p.v), dy = convert<T>(p.dy);
  auto const rotations = convert<T>(p.rotations);
  for (auto* inputs : {&x, &v, &dy}) fill_padding(*inputs, p.lengths);
  result<T> r{nan_like(v), nan_like(x), nan_like(v)};
  call(recipes::reformer<T, ss::exec::host>(ss::exec::host{2}, p.chunk, p.causal),
       {x.view(), v.view(), rotations.view()}, {r.dx.view(), r.dv.view()}, dy, r.y, p.lengths);
  return r;
}

// Rows of x in the order of their buckets. Scores are rounded to T, as in the layer.
template <class T>
std::vector<index_t> order_of(matrix const& x, matrix const& rotation) {
  std::vector<index_t> buckets, order(static_cast<std::size_t>(x.rows));
  for (index_t i = 0; i < x.rows; ++i) {
    std::vector<double> scores;
    for (double sign : {1.0, -1.0})
      for (index_t r = 0; r < rotation.rows; ++r) {
        number<T> sum = 0;
        for (index_t c = 0; c < x.columns; ++c)
          sum = std::fma(static_cast<number<T>>(rotation(r, c)), static_cast<number<T>>(x(i, c)),
                         sum);
        scores.push_back(sign * static_cast<double>(static_cast<number<T>>(static_cast<T>(sum))));
      }
    buckets.push_back(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
  std::iota(order.begin(), order.end(), index_t{0});
  std::stable_sort(order.begin(), order.end(), [&](index_t i, index_t j) {
    return buckets[static_cast<std::size_t>(i)] < buckets[static_cast<std::size_t>(j)];
  });
  return order;
}

// Joint softmax over the rounds: each pair has the sum of its exponentials in all rounds.
template <class T>
matrix map_of_head(problem const& p, index_t b, index_t h) {
  index_t const n = p.valid(b), chunks = (n + p.chunk - 1) / p.chunk,
                rounds = p.rotations.shape.heads;
  matrix const x(p.x.view(), b, h, n);
  matrix keys = x;
  for (index_t j = 0; j < n; ++j) {
    double squares = 0;
    for (index_t c = 0; c < x.columns; ++c) squares += x(j, c) * x(j, c);
    for (index_t c = 0; c < x.columns; ++c) keys(j, c) /= std::sqrt(squares);
  }
  matrix const scores = default_scale(x) * (x * transposed(keys));
  matrix map(n, n);
  for (index_t r = 0; r < rounds; ++r) {
    auto const order = order_of<T>(x, matrix(p.rotations.view(), 0, r));
    std::vector<index_t> chunk_of(static_cast<std::size_t>(n));
    for (index_t position = 0; position < n; ++position)
      chunk_of[static_cast<std::size_t>(order[static_cast<std::size_t>(position)])] =
          position / p.chunk;
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) {
        index_t const query_chunk = chunk_of[static_cast<std::size_t>(i)],
                      key_chunk = chunk_of[static_cast<std::size_t>(j)];
        bool const meets =
            key_chunk == query_chunk || key_chunk == (query_chunk + chunks - 1) % chunks;
        // Scores of the tests are far from the range of exp. A score of -700 is next to none.
        if (meets && (!p.causal || j <= i)) map(i, j) += std::exp(i == j ? -700 : scores(i, j));
      }
  }
  for (index_t i = 0; i < n; ++i) {
    double sum = 0;
    for (index_t j = 0; j < n; ++j) sum += map(i, j);
    for (index_t j = 0; j < n; ++j) map(i, j) /= sum;
  }
  return map;
}
template <class T>
owned<double> oracle(problem const& p) {
  owned<double> y(p.v.shape);
  for (index_t b = 0; b < p.v.shape.batch; ++b)
    for (index_t h = 0; h < p.v.shape.heads; ++h)
      store(y, b, h, map_of_head<T>(p, b, h) * matrix(p.v.view(), b, h, p.valid(b)));
  return y;
}

// Roundings of an element of y: its sum over the keys of all rounds, and the scores of a key.
index_t terms_of(problem const& p) {
  return p.rotations.shape.heads * p.x.shape.length + p.x.shape.channels + weight_roundings;
}

problem make_problem(extents4 e, index_t values, index_t rounds, index_t chunk, bool causal,
                     std::uint64_t seed = 1) {
  return {random_tensor(e, 10 * seed),
          random_tensor({e.batch, e.heads, e.length, values}, 10 * seed + 1),
          random_tensor({1, rounds, 2, e.channels}, 10 * seed + 2),
          random_tensor({e.batch, e.heads, e.length, values}, 10 * seed + 3),
          chunk,
          causal};
}
// True if the steps of check_gradient change no bucket, and no row is near 0, where its direction
// changes fast.
bool has_margins(problem const& p) {
  extents4 const e = p.x.shape;
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h)
      for (index_t r = 0; r < p.rotations.shape.heads; ++r) {
        matrix const x(p.x.view(), b, h), rotation(p.rotations.view(), 0, r),
            scores = x * transposed(rotation), squares = x * transposed(x);
        for (index_t i = 0; i < e.length; ++i) {
          std::vector<double> magnitudes;
          for (index_t j = 0; j < rotation.rows; ++j) magnitudes.push_back(std::fabs(scores(i, j)));
          std::sort(magnitudes.rbegin(), magnitudes.rend());
          if (magnitudes[0] - magnitudes[1] < .02 || squares(i, i) < .5) return false;
        }
      }
  return true;
}

problem golden_problem(bool causal) {
  extents4 const e{1, 1, 8, 2};
  problem p{owned<double>(e),
            owned<double>(e),
            {{1, 2, 2, 2}, {1, .3, -.4, 1, .2, -1, 1, .9}},
            owned<double>(e),
            3,
            causal};
  for (int i = 0; i < 8; ++i)
    for (int c = 0; c < 2; ++c) {
      p.x(0, 0, i, c) = ((3 * i + 5 * c) % 7 - 3) / 2.0 + .1 * (2 * i + c);
      p.v(0, 0, i, c) = ((2 * i + 3 * c) % 5 - 2) / 2.0;
      p.dy(0, 0, i, c) = ((4 * i + c) % 5 - 2) / 2.0;
    }
  return p;
}

}  // namespace

TEST_CASE("golden values") {
  extents4 const e{1, 1, 8, 2};
  auto const p = golden_problem(false);
  auto const r = run<double>(p);
  check_close(r.y,
              {e,
               {.1839858018, -.0559634523, -.1959785097, .5828428246, .101141079, -.3895861718,
                .0191438924, -.358301782, .3594160808, -.4185209402, .3780342929, -.1237824622,
                .5454508451, -.2047505383, -.4831814798, .1006183047}},
              1e-9);
  check_close(r.dx,
              {e,
               {.0856211291, .0990467376, .0681518029, .3779073363, -.0566833838, -.0702694291,
                -.1447446715, .1827500221, -.0349679413, -.053824498, -.1421151792, -.0934503511,
                .1352448312, .1775968675, .0802022847, .0348472911}},
              1e-9);
  check_close(r.dv,
              {e,
               {.0146291396, .0424534502, .0533819883, .2268710324, .1475224769, -.5022921032,
                .4837987744, -.4747948871, .3438616401, -.1093990772, .183928381, .330986537,
                -.264850011, .2960916998, -.4622723893, -.3099166519}},
              1e-9);
  check_close(run<double>(golden_problem(true)).y,
              {e,
               {-1, .5, -1, .5, 0, -1, .028357792, -.6341157422, .6163949417, -.0027692963,
                -.1014339348, .0537887494, .5454508451, -.2047505383, -.4831814798, .1006183047}},
              1e-9);
}

TEST_CASE("oracle and differences") {
  for (bool causal : {false, true})
    for (index_t chunk : {1, 2, 20}) {
      CAPTURE(causal);
      CAPTURE(chunk);
      problem p;
      std::uint64_t seed = 0;
      do p = make_problem({2, 2, 5, 4}, 3, 2, chunk, causal, ++seed);
      while (!has_margins(p));
      for (auto const& lengths : {std::vector<index_t>{}, {5, 3}, {0, 1}}) {
        p.lengths = lengths;
        auto const r = run<double>(p);
        check_close(r.y, oracle<double>(p), oracle_difference(terms_of(p)));
        auto const loss = [&] { return weighted_sum(run<double>(p).y, p.dy); };
        check_gradient(loss, p.x, r.dx);
        check_gradient(loss, p.v, r.dv);
      }
    }
}

TEST_CASE("lengths that chunks and tiles do not divide") {
  for (bool causal : {false, true})
    for (index_t length : {1, 2, 63, 150})
      for (index_t chunk : {1, 7, 64, 150}) {
        CAPTURE(causal);
        CAPTURE(length);
        CAPTURE(chunk);
        auto p = make_problem({2, 2, length, 5}, 3, 2, chunk, causal);
        check_close(run<double>(p).y, oracle<double>(p), oracle_difference(terms_of(p)));
        p.lengths = {length, length / 2 + 1};
        check_close(run<double>(p).y, oracle<double>(p), oracle_difference(terms_of(p)));
      }
}

TEST_CASE("no rows, and no valid rows") {
  auto p = make_problem({2, 2, 0, 3}, 4, 2, 4, false);
  CHECK(run<double>(p).y.values.empty());
  p = make_problem({2, 2, 3, 3}, 4, 2, 4, false);
  p.lengths = {0, 0};
  auto const r = run<double>(p);
  for (auto const* values : {&r.y.values, &r.dx.values, &r.dv.values})
    for (double value : *values) CHECK(value == 0);
}

TEST_CASE("heads of packed tensors") {
  check_packed(make_problem({2, 3, 9, 4}, 5, 2, 4, false),
               [](problem const& p) { return run<double>(p); });
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Rotations of -1, 0 and 1 have exact scores, and hence the same buckets in every type.
  // Roundings: keys, y of a round, y, gradients of a round, their sum, and the result.
  for (bool causal : {false, true})
    for (index_t length : {1, 2, 63, 200}) {
      auto p = make_problem({2, 2, length, 16}, 8, 2, 16, causal);
      for (double& value : p.rotations.values) value = std::round(value);
      if (length > 2) p.lengths = {length / 2, length};
      check_rounded(run<T>(p), run<double>(p), 6, length + 16);
    }
}
