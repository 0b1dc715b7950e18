// SPDX-License-Identifier: Apache-2.0
// The recipes nystromformer and pseudo_inverse against golden values, dense oracles, and
// differences.
#include "recipes/nystromformer.hpp"
#include "recipes/pseudo_inverse.hpp"

#include "allocations.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/short_convolution.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

struct problem {
  owned<double> q, k, v, filters, dy;
  index_t landmarks;
  std::size_t steps = 6;
  std::vector<index_t> lengths{};
};
problem make_problem(extents4 x, index_t landmarks, index_t taps) {
  return {random_tensor(x, 1), random_tensor(x, 2),
          random_tensor(x, 3), random_tensor({1, x.heads, 1, taps}, 4),
          random_tensor(x, 5), landmarks};
}

template <class T>
struct result {
  owned<T> y, dq, dk, dv, dfilters;
};
template <class T>
result<T> run(problem const& p) {
  auto const filters = convert<T>(p.filters);
  auto q = convert<T>(p.q), k = convert<T>(p.k), v = convert<T>(p.v), dy = convert<T>(p.dy);
  for (auto* x : {&q, &k, &v, &dy}) fill_padding(*x, p.lengths);
  result<T> r{owned<T>(q.shape, nan<T>()), owned<T>(q.shape, nan<T>()), owned<T>(k.shape, nan<T>()),
              owned<T>(v.shape, nan<T>()), owned<T>(filters.shape, nan<T>())};
  recipes::nystromformer_params<T> const params{q.view(), k.view(), v.view(), filters.view()};
  recipes::nystromformer<T, ss::exec::host> layer(ss::exec::host{2}, p.landmarks, p.steps);
  layer.forward(params, r.y.view(), lengths_of(p.lengths));
  call_twice([&] {
    layer.backward(dy.view(), params, r.y.view(),
                   {r.dq.view(), r.dk.view(), r.dv.view(), r.dfilters.view()});
  });
  return r;
}

matrix pseudo_inverse_of(matrix const& a, std::size_t steps) {
  double largest = 0;
  for (index_t j = 0; j < a.columns; ++j) {
    double sum = 0;
    for (index_t i = 0; i < a.rows; ++i) sum += a(i, j);
    largest = std::max(largest, sum);
  }
  auto const minus_from = [&](double diagonal, matrix m) {  // diagonal * I - m
    m = -1 * m;
    for (index_t i = 0; i < m.rows; ++i) m(i, i) += diagonal;
    return m;
  };
  matrix z = 1 / largest * transposed(a);
  for (std::size_t t = 0; t < steps; ++t) {
    matrix const x = a * z;
    z = .25 * (z * minus_from(13, x * minus_from(15, x * minus_from(7, x))));
  }
  return z;
}

// The dense matrices of a head.
struct head_matrices {
  matrix q, k, v, mean, inverse;

  head_matrices(problem const& p, index_t b, index_t h)
      : head_matrices(p, b, h, valid_rows(p.lengths, b, p.q.shape.length)) {}

 private:
  head_matrices(problem const& p, index_t b, index_t h, index_t n)
      : q(p.q.view(), b, h, n),
        k(p.k.view(), b, h, n),
        v(p.v.view(), b, h, n),
        mean(std::min(n, p.landmarks), n),
        inverse(0, 0) {
    for (index_t t = 0; t < mean.rows; ++t) {
      index_t const first = t * n / mean.rows, last = (t + 1) * n / mean.rows;
      for (index_t i = first; i < last; ++i) mean(t, i) = 1 / static_cast<double>(last - first);
    }
    inverse = pseudo_inverse_of(attention_map(mean * q, mean * k), p.steps);
  }
};
owned<double> oracle(problem const& p) {
  extents4 const e = p.q.shape;
  index_t const taps = p.filters.shape.channels;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t h = 0; h < e.heads; ++h) {
      head_matrices const m(p, b, h);
      matrix convolution(m.v.rows, m.v.rows);
      for (index_t i = 0; i < m.v.rows; ++i)
        for (index_t tap = 0; tap < taps; ++tap)
          if (index_t const j = i + tap - (taps - 1) / 2; j >= 0 && j < m.v.rows)
            convolution(i, j) = p.filters(0, h, 0, tap);
      matrix const context = attention_map(m.mean * m.q, m.k) * m.v;
      store(y, b, h, attention_map(m.q, m.mean * m.k) * (m.inverse * context) + convolution * m.v);
    }
  return y;
}
// Largest sum of magnitudes of a row of a pseudo-inverse.
double largest_norm(problem const& p) {
  double largest = 0;
  for (index_t b = 0; b < p.q.shape.batch; ++b)
    for (index_t h = 0; h < p.q.shape.heads; ++h) {
      matrix const inverse = head_matrices(p, b, h).inverse;
      for (index_t i = 0; i < inverse.rows; ++i) {
        double sum = 0;
        for (index_t j = 0; j < inverse.columns; ++j) sum += std::fabs(inverse(i, j));
        largest = std::max(largest, sum);
      }
    }
  return largest;
}

void check_all(problem p) {
  auto const r = run<double>(p);
  check_close(r.y, oracle(p), 1e-11);
  auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
  check_gradient(loss, p.q, r.dq, 1e-7);
  check_gradient(loss, p.k, r.dk, 1e-7);
  check_gradient(loss, p.v, r.dv, 1e-7);
  check_gradient(loss, p.filters, r.dfilters, 1e-7);
}

}  // namespace

TEST_CASE("golden values") {
  auto const r = run<double>(
      {golden_q(), golden_k(), golden_v(), owned<double>({1, 1, 1, 1}), golden_dy(), 2});
  extents4 const e{1, 1, 4, 2};
  check_close(r.y,
              {e,
               {.9762975828, 1.2544606551, .740665344, .7683563399, .740665344, .7683563399,
                .5537434299, .3827403926}},
              1e-10);
  check_close(r.dq,
              {e,
               {1.6328177859, -1.0779070369, 1.6328177859, -.2679940431, -.0983190615, -.3126170932,
                -.0983190615, -.390678327}},
              1e-10);
  check_close(r.dk,
              {e,
               {-.481995124, -.1886756289, -.1006823438, -.5926728781, -.3164859914, .0120535946,
                .8991634592, .7692949124}},
              1e-10);
  check_close(r.dv,
              {e,
               {.4106121558, 1.1514970426, 1.0240170087, 1.1273619029, .3671361053, .5612877637,
                .1982347323, 1.1598532836}},
              1e-10);
}

TEST_CASE("golden values of the pseudo-inverse") {
  extents4 const e{1, 1, 3, 3};
  matrix logits(3, 3);
  logits.values = {1, .2, -.3, 0, .8, .1, .3, -.2, 1.1};
  owned<double> a(e), z(e), da(e);
  a.values = softmax_rows(logits).values;
  recipes::pseudo_inverse<double, ss::exec::host> layer(ss::exec::host{}, 6);
  auto const result = layer.forward(a.view());
  std::copy_n(result.data(), 9, z.values.data());
  check_close(z,
              {e,
               {2.2091338445, -1.0829175007, -.1262163438, -.5779158369, 2.5337785489, -.955862712,
                -.8351273827, -.2039490123, 2.039076395}},
              1e-10);
  owned<double> const dz(e, {1, 0, 2, 0, -1, 1, 1, 1, 0});
  call_twice([&] { layer.backward(dz.view(), a.view(), da.view()); });
  check_close(da,
              {e,
               {-2.8291878919, 5.1166263281, -6.7357584305, -.0754322317, 6.5447983469,
                -2.3833192974, -1.1349985339, -7.638004865, 4.6721033083}},
              1e-10);
}

TEST_CASE("dense oracle and differences") {
  auto p = make_problem({2, 2, 11, 3}, 4, 3);
  check_all(p);
  for (std::vector<index_t> const& lengths :
       {std::vector<index_t>{7, 11}, std::vector<index_t>{3, 1}, std::vector<index_t>{0, 4}}) {
    p.lengths = lengths;
    check_all(p);
  }
  check_all(make_problem({1, 2, 3, 2}, 5, 1));  // fewer rows than landmarks
}

TEST_CASE("as many landmarks as rows and enough steps give softmax attention") {
  auto p = make_problem({1, 2, 6, 4}, 6, 1);
  p.steps = 30;
  for (double& value : p.filters.values) value = 0;
  owned<double> y(p.q.shape);
  ss::scratch memory;
  ss::softmax_attention<>().forward(ss::exec::host{}, {p.q.view(), p.k.view(), p.v.view()},
                                    y.view(), ss::no_saved, memory);
  check_close(run<double>(p).y, y, 1e-11);
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Equal rows in a segment keep the landmarks distinct, and so the pseudo-inverse small. Of five
  // roundings, it multiplies the errors of landmarks, context and the gradient of its product.
  for (index_t length : {1, 7, 16, 100}) {
    auto p = make_problem({2, 2, length, 16}, 8, 3);
    if (length > 7) p.lengths = {length / 2, length};
    auto const rows = p.q;
    for (index_t b = 0; b < 2; ++b)
      for (index_t h = 0; h < 2; ++h)
        for (index_t n = 0; n < length; ++n)
          for (index_t c = 0; c < 16; ++c) {
            index_t const segment = length < 8 ? n : n * 8 / valid_rows(p.lengths, b, length);
            p.k(b, h, n, c) = p.q(b, h, n, c) = 2 * rows(b, h, segment % length, c);
          }
    double const norm = largest_norm(p);
    REQUIRE(norm < 4);
    check_rounded(run<T>(p), run<double>(p), 2 + 3 * norm, length + 16, 1);
  }
}
