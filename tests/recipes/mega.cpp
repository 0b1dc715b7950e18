// SPDX-License-Identifier: Apache-2.0
// The recipes mega, mega_csp and update_gate against dense oracles, and differences.
#include "recipes/mega/mega.hpp"
#include "recipes/mega/mega_csp.hpp"
#include "recipes/mega/pointwise_attend.hpp"

#include "calls.hpp"
#include "check.hpp"
#include "support/numbers.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/pointwise_attention.hpp>
#include <slicesort/sigmoid.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }
matrix apply(double (*function)(double), matrix m) {
  for (double& value : m.values) value = function(value);
  return m;
}
matrix multiply_elements(matrix a, matrix const& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] *= b.values[i];
  return a;
}

struct problem {
  owned<double> z, r, v, gamma, beta, bias, dy;
  index_t chunk = 0;
  std::vector<index_t> lengths{};
  bool has_softmax = true;  // else the form for images, Laplace's function of scores
};
// Biases for `reach` rows; 0: none.
problem make_problem(index_t batch, index_t length, index_t channels, index_t values, index_t chunk,
                     index_t reach) {
  extents4 const z{batch, 1, length, channels}, v{batch, 1, length, values};
  problem p{random_tensor(z, 1),
            random_tensor(v, 2),
            random_tensor(v, 3),
            random_tensor({1, 2, 1, channels}, 4),
            random_tensor({1, 2, 1, channels}, 5),
            {},
            random_tensor(v, 7),
            chunk};
  if (reach > 0) p.bias = random_tensor({1, 1, 1, 2 * reach - 1}, 6);
  return p;
}

template <class T>
struct result {
  owned<T> y, dz, dr, dv, dgamma, dbeta, dbias;
};
template <class T>
result<T> run(problem const& p) {
  auto const gamma = convert<T>(p.gamma), beta = convert<T>(p.beta), bias = convert<T>(p.bias);
  auto z = convert<T>(p.z), r = convert<T>(p.r), v = convert<T>(p.v), dy = convert<T>(p.dy);
  for (auto* rows : {&z, &r, &v, &dy}) fill_padding(*rows, p.lengths);
  result<T> results{nan_like(v),     nan_like(z),    nan_like(r),   nan_like(v),
                    nan_like(gamma), nan_like(beta), nan_like(bias)};
  recipes::mega_params<T> params{z.view(), r.view(), v.view(), gamma.view(), beta.view()};
  recipes::mega_grads<T> grads{results.dz.view(), results.dr.view(), results.dv.view(),
                               results.dgamma.view(), results.dbeta.view()};
  if (!p.bias.values.empty()) params.bias = bias.view(), grads.dbias = results.dbias.view();
  using host = ss::exec::host;
  using laplace = ss::pointwise_attention<>;
  if (p.has_softmax)
    call(recipes::mega<T, host>(host{2}, p.chunk), params, grads, dy, results.y, p.lengths);
  else
    call(recipes::mega<T, host, laplace>(host{2}, p.chunk, laplace(ss::per_key{})), params, grads,
         dy, results.y, p.lengths);
  return results;
}

// The weight of a score in the form for images.
double laplace_weight(double score) {
  return std::erfc((0.707107 - score) / (0.282095 * std::sqrt(2.0))) / 2;
}
owned<double> oracle(problem const& p) {
  extents4 const e = p.v.shape;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b) {
    index_t const n = valid_rows(p.lengths, b, e.length), chunk = p.chunk > 0 ? p.chunk : e.length;
    matrix const shared = apply(silu, matrix(p.z.view(), b, 0, n));
    matrix inputs[2] = {shared, shared};
    for (index_t i = 0; i < 2; ++i)
      for (index_t row = 0; row < n; ++row)
        for (index_t c = 0; c < shared.columns; ++c)
          inputs[i](row, c) = p.gamma(0, i, 0, c) * shared(row, c) + p.beta(0, i, 0, c);
    matrix scores = inputs[0] * transposed(inputs[1]);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) {
        index_t const first = i / chunk * chunk, keys = std::min(chunk, n - first);
        scores(i, j) *= p.has_softmax ? default_scale(shared) : 1 / static_cast<double>(keys);
        if (i / chunk != j / chunk)
          scores(i, j) = -HUGE_VAL;
        else if (!p.bias.values.empty())
          scores(i, j) += p.bias(0, 0, 0, j - i + p.bias.shape.channels / 2);
      }
    matrix const weights = p.has_softmax ? softmax_rows(scores) : apply(laplace_weight, scores);
    store(y, b, 0,
          multiply_elements(weights * apply(silu, matrix(p.v.view(), b, 0, n)),
                            apply(silu, matrix(p.r.view(), b, 0, n))));
  }
  return y;
}

void check_all(problem p) {
  auto const results = run<double>(p);
  check_close(results.y, oracle(p), 1e-14);
  auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
  check_gradient(loss, p.z, results.dz);
  check_gradient(loss, p.r, results.dr);
  check_gradient(loss, p.v, results.dv);
  check_gradient(loss, p.gamma, results.dgamma);
  check_gradient(loss, p.beta, results.dbeta);
  if (!p.bias.values.empty()) check_gradient(loss, p.bias, results.dbias);
}

// A permutation recipe: all rows of a channel are sorted, without a shift.
struct csp_problem {
  owned<double> r, v, dy;
  std::vector<index_t> lengths{};
};
using sort_channels = ss::csp<ss::shift::none, ss::ascending>;
template <class T>
struct csp_result {
  owned<T> y, dr, dv;
};
template <class T>
csp_result<T> run(csp_problem const& p) {
  auto r = convert<T>(p.r), v = convert<T>(p.v), dy = convert<T>(p.dy);
  for (auto* rows : {&r, &v, &dy}) fill_padding(*rows, p.lengths);
  csp_result<T> results{nan_like(v), nan_like(r), nan_like(v)};
  call(recipes::mega_csp<T, ss::exec::host, sort_channels>(
           ss::exec::host{2}, sort_channels(ss::group_count{1}, ss::shift::none{})),
       {r.view(), v.view()}, {results.dr.view(), results.dv.view()}, dy, results.y, p.lengths);
  return results;
}
owned<double> oracle(csp_problem const& p) {
  extents4 const e = p.v.shape;
  owned<double> y(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      std::vector<double> values;
      for (index_t n = 0; n < valid_rows(p.lengths, b, e.length); ++n)
        values.push_back(silu(p.v(b, 0, n, c)));
      std::sort(values.begin(), values.end());
      for (std::size_t n = 0; n < values.size(); ++n) {
        auto const row = static_cast<index_t>(n);
        y(b, 0, row, c) = values[n] * silu(p.r(b, 0, row, c));
      }
    }
  return y;
}

}  // namespace

// Every count of a vector's numbers, on every instruction set, has the bits of the scalar function.
TEST_CASE_TEMPLATE("sigmoids", A, float, double) {
  support::random_stream random(9);
  constexpr long double epsilon = std::numeric_limits<A>::epsilon();
  std::vector<A> x = {A(0), -A(0), A(1e-30), A(-1e-30), A(30), A(-30), A(1e30), A(-1e30)};
  while (x.size() < 500)
    x.push_back(
        static_cast<A>((random.unit() - .5) * std::ldexp(1, static_cast<int>(random.below(9)))));
  std::vector<A> expected;
  long double error = 0;
  for (A value : x) {
    expected.push_back(ss::sigmoid(value));
    long double const exact = 1 / (1 + std::exp(-static_cast<long double>(value)));
    if (exact > 2 * static_cast<long double>(std::numeric_limits<A>::min()))
      error = support::max_or_nan(error, std::fabs(expected.back() - exact) / (epsilon * exact));
    else
      CHECK(expected.back() <= exact * (1 + 3 * epsilon));
  }
  CHECK(error <= 3);
  CHECK(expected[0] == A(.5));
  CHECK(expected[1] == A(.5));
  CHECK(expected[6] == A(1));
  CHECK(expected[7] == A(0));
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512}) {
    if (!ss::detail::is_isa_available(set)) continue;
    for (index_t count = 0; count <= 35; ++count) {
      std::vector<A> y(x.begin(), x.begin() + 36);
      ss::sigmoid(ss::exec::host{1, set}, y.data(), y.data(), count);  // in place
      for (index_t i = 0; i < 36; ++i)
        CHECK(y[static_cast<std::size_t>(i)] ==
              (i < count ? expected : x)[static_cast<std::size_t>(i)]);
    }
    std::vector<A> y(x.size());
    ss::sigmoid(ss::exec::host{1, set}, x.data(), y.data(), static_cast<index_t>(x.size()));
    CHECK(y == expected);
#if !defined(__FAST_MATH__)
    using bits = ss::detail::bits_t<A>;
    A special[] = {std::numeric_limits<A>::infinity(), -std::numeric_limits<A>::infinity(),
                   std::numeric_limits<A>::quiet_NaN(), -std::numeric_limits<A>::quiet_NaN()};
    ss::sigmoid(ss::exec::host{1, set}, special, special, 4);
    CHECK(special[0] == A(1));
    CHECK(special[1] == A(0));
    for (A const y_nan :
         {special[2], special[3], ss::sigmoid(-std::numeric_limits<A>::quiet_NaN())})
      CHECK(ss::detail::bit_cast<bits>(y_nan) == ss::detail::nan_bits<A>);
#endif
  }
}

TEST_CASE("dense oracle and differences") {
  for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}})
    for (index_t chunk : {0, 3, 9}) {
      auto p = make_problem(2, 7, 3, 4, chunk, 9);
      p.lengths = lengths;
      check_all(p);
    }
  check_all(make_problem(2, 6, 2, 3, 2, 2));  // whole chunks, biases of a chunk
  check_all(make_problem(1, 5, 3, 2, 0, 0));  // no bias
}

TEST_CASE("the form for images") {
  for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}})
    for (index_t chunk : {0, 3}) {
      auto p = make_problem(2, 7, 3, 4, chunk, 9);
      p.lengths = lengths, p.has_softmax = false;
      check_all(p);
    }
}

TEST_CASE("one chunk of constant queries averages the values") {
  auto p = make_problem(1, 4, 2, 1, 2, 0);
  p.gamma = owned<double>(p.gamma.shape);
  p.beta = owned<double>(p.beta.shape);
  p.v = {p.v.shape, {1, 2, 3, 4}};
  p.r = owned<double>(p.r.shape, 1);
  double const first = (silu(1) + silu(2)) / 2 * silu(1),
               second = (silu(3) + silu(4)) / 2 * silu(1);
  check_close(run<double>(p).y, {p.v.shape, {first, first, second, second}}, 4e-15);
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings: queries, keys and values, the attention's output, y, and in backward those of
  // its gradients, which cancel in the softmax, of its inputs, and of the results.
  for (index_t length : {1, 2, 63, 200})
    for (index_t chunk : {0, 16}) {
      auto p = make_problem(2, length, 16, 8, chunk, 200);
      if (length > 2) p.lengths = {length / 2, length};
      check_rounded(run<T>(p), run<double>(p), 8, length + 16, 1);
    }
}

TEST_CASE("sorted channels, and differences") {
  for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}}) {
    csp_problem p{random_tensor({2, 1, 7, 3}, 1), owned<double>({2, 1, 7, 3}),
                  random_tensor({2, 1, 7, 3}, 2), lengths};
    // Distinct values of a channel, at distances that differences do not exchange.
    for (index_t b = 0; b < 2; ++b)
      for (index_t n = 0; n < 7; ++n)
        for (index_t c = 0; c < 3; ++c)
          p.v(b, 0, n, c) = static_cast<double>((3 * n + 2 * c + b) % 7) / 4 - .75;
    auto const results = run<double>(p);
    check_close(results.y, oracle(p), 4e-15);
    auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
    check_gradient(loss, p.r, results.dr);
    check_gradient(loss, p.v, results.dv);
  }
}

TEST_CASE_TEMPLATE("sorted channels of any length, in float and bfloat16", T, float, bfloat16) {
  // Roundings of the values and of y. Equal values after a rounding are equal in y; their
  // gradients may be exchanged, so all values are distinct here.
  for (index_t length : {1, 2, 63}) {
    extents4 const e{1, 1, length, 2};
    csp_problem p{random_tensor(e, 1), owned<double>(e), random_tensor(e, 2)};
    for (index_t n = 0; n < length; ++n)
      for (index_t c = 0; c < 2; ++c) p.v(0, 0, n, c) = static_cast<double>(n * 5 % 63 + 1) / 16;
    check_rounded(run<T>(p), run<double>(p), 3, 1);
  }
}

TEST_CASE("the update gate, and differences") {
  extents4 const e{2, 1, 5, 3};
  owned<double> u = random_tensor(e, 1), candidate = random_tensor(e, 2), x = random_tensor(e, 3);
  owned<double> const dy = random_tensor(e, 4);
  std::vector<index_t> const lengths{5, 3};
  auto const expected = [&] {
    owned<double> y(e);
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t n = 0; n < valid_rows(lengths, b, e.length); ++n)
        for (index_t c = 0; c < e.channels; ++c) {
          double const share = sigmoid(u(b, 0, n, c));
          y(b, 0, n, c) = share * silu(candidate(b, 0, n, c)) + (1 - share) * x(b, 0, n, c);
        }
    return y;
  };
  auto const padded = [&](owned<double> values) {
    fill_padding(values, lengths);
    return values;
  };
  auto const gate = padded(u), other = padded(candidate), rows = padded(x), d = padded(dy);
  owned<double> y = nan_like(x), du = y, dcandidate = y, dx = y;
  call(recipes::update_gate<double, ss::exec::host>(ss::exec::host{2}),
       {gate.view(), other.view(), rows.view()}, {du.view(), dcandidate.view(), dx.view()}, d, y,
       lengths);
  check_close(y, expected(), 4e-15);
  auto const loss = [&] { return weighted_sum(expected(), dy); };
  check_gradient(loss, u, du);
  check_gradient(loss, candidate, dcandidate);
  check_gradient(loss, x, dx);
}
