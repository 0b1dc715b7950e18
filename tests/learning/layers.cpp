// SPDX-License-Identifier: Apache-2.0
// Single layers: values compared with formulas in double, and conventions that a gradient check
// cannot find.
#include "learning/layers/activation.hpp"
#include "learning/layers/dropout.hpp"
#include "learning/layers/embedding.hpp"
#include "learning/layers/norm.hpp"
#include "learning/loss.hpp"
#include "learning/optimizer.hpp"
#include "support/numbers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace learning;
using support::max_or_nan;

namespace {

// The context of a step, with more memory than these layers need.
template <class T>
struct step_context {
  thread_pool threads{2};
  memory stack;
  context<T> c{threads, stack};

  step_context() {
    stack.keep<double>(1 << 20);
    stack.allocate();
  }
};

}  // namespace

TEST_CASE("exponential and activations in float, against double") {
  double worst_exp = 0, worst_gelu = 0, worst_tanh = 0, worst_slope = 0;
  for (int i = -20000; i <= 20000; ++i) {
    double const x = i / 1000.0;
    auto const f = static_cast<float>(x);
    double const exact = static_cast<double>(f);
    if (i <= 0)
      worst_exp = max_or_nan(
          worst_exp,
          std::fabs(static_cast<double>(exp_nonpositive(4 * f)) / std::exp(4 * exact) - 1));
    auto const g = gelu(exact), t = gelu_tanh(exact);
    auto const gf = gelu(f), tf = gelu_tanh(f);
    // Errors are relative to values up to 20, where an ulp is 1.2e-7.
    double const size = std::max(1.0, std::fabs(exact));
    worst_gelu = max_or_nan(worst_gelu, std::fabs(static_cast<double>(gf.value) - g.value) / size);
    worst_tanh = max_or_nan(worst_tanh, std::fabs(static_cast<double>(tf.value) - t.value) / size);
    worst_slope = max_or_nan(worst_slope, std::fabs(static_cast<double>(gf.slope) - g.slope));
    worst_slope = max_or_nan(worst_slope, std::fabs(static_cast<double>(tf.slope) - t.slope));
  }
  CHECK(worst_exp < 3e-7);
  CHECK(worst_gelu < 3e-7);  // half of the formula's 1.5e-7 for erf, and rounding
  CHECK(worst_tanh < 3e-7);
  CHECK(worst_slope < 1e-6);
  CHECK(exp_nonpositive(-100.0F) == 0);
  CHECK(exp_nonpositive(0.0F) == 1);
}
TEST_CASE("activations at some points") {
  // x Phi(x) and Phi(x) + x phi(x) from tables.
  CHECK(gelu(1.0).value == doctest::Approx(0.8413447461).epsilon(1e-9));
  CHECK(gelu(1.0).slope == doctest::Approx(0.8413447461 + 0.2419707245).epsilon(1e-9));
  CHECK(gelu(-2.0).value == doctest::Approx(-2 * 0.0227501319).epsilon(1e-8));
  double const tanh_argument = std::sqrt(2 / 3.14159265358979) * (1.5 + 0.044715 * 1.5 * 1.5 * 1.5);
  CHECK(gelu_tanh(1.5).value ==
        doctest::Approx(0.75 * (1 + std::tanh(tanh_argument))).epsilon(1e-9));
  CHECK(gelu_tanh(1.0).value != gelu(1.0).value);
  CHECK(silu(1.0).value == doctest::Approx(0.7310585786).epsilon(1e-9));
  for (double const x : {-3.0, -0.3, 0.7, 4.0}) {
    double const step = 1e-6;
    CHECK(
        gelu(x).slope ==
        doctest::Approx((gelu(x + step).value - gelu(x - step).value) / (2 * step)).epsilon(1e-7));
    CHECK(
        silu(x).slope ==
        doctest::Approx((silu(x + step).value - silu(x - step).value) / (2 * step)).epsilon(1e-7));
    CHECK(gelu_tanh(x).slope ==
          doctest::Approx((gelu_tanh(x + step).value - gelu_tanh(x - step).value) / (2 * step))
              .epsilon(1e-7));
  }
  CHECK(relu(2.0).value == 2);
  CHECK(relu(-2.0).value == 0);
  CHECK(relu(-2.0).slope == 0);
}
TEST_CASE("products in every orientation") {
  random_stream const random(1, 1);
  std::vector<double> a(6), b(12), c(8);
  for (std::size_t i = 0; i < 6; ++i) a[i] = random.normal(i);
  for (std::size_t i = 0; i < 12; ++i) b[i] = random.normal(i + 6);
  // [2, 3] [3, 4]; transposed operands use the same memory as [3, 2] and [4, 3].
  auto const sum = [&](index_t i, index_t j, transposed transpose) {
    double total = 0;
    for (index_t k = 0; k < 3; ++k)
      total += a[static_cast<std::size_t>(transpose == transposed::a ? k * 2 + i : i * 3 + k)] *
               b[static_cast<std::size_t>(transpose == transposed::b ? j * 3 + k : k * 4 + j)];
    return total;
  };
  for (transposed const transpose : {transposed::none, transposed::a, transposed::b})
    for (bool const accumulate : {false, true}) {
      std::fill(c.begin(), c.end(), 10.0);
      bool const transpose_a = transpose == transposed::a, transpose_b = transpose == transposed::b;
      multiply<double>({a.data(), transpose_a ? 3 : 2, transpose_a ? 2 : 3},
                       {b.data(), transpose_b ? 4 : 3, transpose_b ? 3 : 4}, {c.data(), 2, 4},
                       transpose, accumulate);
      for (index_t i = 0; i < 2; ++i)
        for (index_t j = 0; j < 4; ++j)
          CHECK(c[static_cast<std::size_t>(i * 4 + j)] ==
                doctest::Approx(sum(i, j, transpose) + (accumulate ? 10 : 0)));
    }
}
TEST_CASE("layer norm: rows of mean 0 and, except for epsilon, of deviation 1") {
  step_context<double> s;
  parameters<double> params;
  parameter_scope<double> scope{&params, "", {}, 0, 0, 4, 0, 1};
  scope.rules.norm_epsilon = 0.5;
  layer_norm<double> norm(scope);
  params.allocate(0);
  for (double& g : params.values()) g += 0.25;  // weight 1.25, bias 0.25
  std::vector<double> const x = {1, 2, 3, 6};
  std::vector<double> y(4);
  norm.forward(s.c, {x.data(), 1, 4}, {y.data(), 1, 4});
  double const rstd = 1 / std::sqrt(14.0 / 4 + 0.5);  // biased: (4 + 1 + 0 + 9) / 4
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(y[i] == doctest::Approx(1.25 * (x[i] - 3) * rstd + 0.25));
}
TEST_CASE("dropout keeps elements by the hash of seed, layer, pass and element") {
  step_context<float> s;
  parameters<float> params;
  parameter_scope<float> scope{&params, "layers.3", {}, 0, 0, 0, 0, 1};
  scope.rules.dropout = 0.25;
  dropout<float> const drop(scope);
  index_t const rows = 3000, columns = 7;  // several tiles
  std::vector<float> x(static_cast<std::size_t>(rows * columns), 3.0F);
  s.c.seed = 11, s.c.pass = 5;
  drop.apply(s.c, {x.data(), rows, columns});
  std::uint64_t const stream = stream_of("layers.3.dropout");
  int kept_count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool const is_kept = ss::detail::counter_hash32(11, stream, (std::uint64_t{5} << 40) + i) >=
                         std::uint32_t{1} << 30;
    kept_count += is_kept ? 1 : 0;
    REQUIRE(x[i] == (is_kept ? 3.0F * (1 / 0.75F) : 0.0F));
  }
  double const n = static_cast<double>(x.size());
  CHECK(std::fabs(kept_count / n - 0.75) < 4 * std::sqrt(0.75 * 0.25 / n));
  s.c.training = false;
  std::vector<float> const before = x;
  drop.apply(s.c, {x.data(), rows, columns});
  CHECK(x == before);
}
TEST_CASE("embeddings: the class token before positions are counted, sines and cosines") {
  step_context<double> s;
  parameters<double> params;
  parameter_scope<double> scope{&params, "", {}, 0, 0, 4, 0, 1};
  sample_shape const shape{3, 0, 5, 2, 0};
  embedding<double> rows(scope, shape, true, positions::sinusoid);
  params.allocate(1);
  REQUIRE(params.entries()[1].name == "cls");
  std::vector<std::int32_t> const tokens = {4, 1, 0};
  batch<double> input;
  input.size = 1, input.shape = shape, input.tokens = tokens.data();
  std::vector<double> x(16);
  rows.forward(s.c, input, {x.data(), {1, 4, 4}});
  double const slow = std::pow(1e4, -0.5);
  for (index_t n = 0; n < 4; ++n) {
    double const i = static_cast<double>(n);
    double const position[] = {std::sin(i), std::cos(i), std::sin(i * slow), std::cos(i * slow)};
    for (index_t c = 0; c < 4; ++c) {
      double const token = n == 0 ? 0
                                  : params.values()[static_cast<std::size_t>(
                                        4 * tokens[static_cast<std::size_t>(n - 1)] + c)];
      CHECK(x[static_cast<std::size_t>(4 * n + c)] == doctest::Approx(token + position[c]));
    }
  }
}
TEST_CASE("losses: values, gradients, and correct outputs") {
  batch<double> input;
  input.shape.outputs = 3;
  std::vector<std::int32_t> const labels = {2, 0};
  input.labels = labels.data();
  std::vector<double> const y = {1, 2, 3, 800, 800, -800};  // the first maximum is the output
  std::vector<double> dy(6);
  score const s = cross_entropy<double>(input, {y.data(), 2, 3}, {dy.data(), 2, 3}, 2);
  double const sum = std::exp(-2.0) + std::exp(-1.0) + 1;
  CHECK(s.loss == doctest::Approx(std::log(sum) + std::log(2.0)));
  CHECK(s.correct == 2);
  CHECK(dy[0] == doctest::Approx(std::exp(-2.0) / sum / 2));
  CHECK(dy[2] == doctest::Approx((1 / sum - 1) / 2));
  CHECK(dy[3] == doctest::Approx(-0.25));
  CHECK(dy[5] == 0);

  input.shape = {1, 0, 0, 1, 0.04F};
  std::vector<double> const targets = {0.5, 0.5, 0.5}, predictions = {0.53, 0.45, 0.5};
  input.targets = targets.data();
  score const e = square_error<double>(input, {predictions.data(), 3, 1}, {dy.data(), 3, 1}, 3);
  CHECK(e.loss == doctest::Approx(0.0009 + 0.0025));
  CHECK(e.correct == 2);
  CHECK(dy[0] == doctest::Approx(2 * 0.03 / 3));
}
TEST_CASE("adam: three steps with clipping and decay") {
  step_context<double> s;
  parameters<double> params;
  parameter<double> const p = params.add("p", {2}, initializer::constant(1));
  params.allocate(0);
  adam const update{0.9, 0.99, 1e-3, 0.1, 1.0};
  double const rate = 0.01;
  double const gradients[3][2] = {{3, 4}, {0.1, -0.2}, {-6, 8}};
  double value[2] = {1, 1}, m[2] = {0, 0}, v[2] = {0, 0};
  for (int t = 1; t <= 3; ++t) {
    double const* g = gradients[t - 1];
    double const norm = std::hypot(g[0], g[1]);
    for (int i = 0; i < 2; ++i) {
      double const clipped = norm > 1 ? g[i] / norm : g[i];
      m[i] = 0.9 * m[i] + 0.1 * clipped;
      v[i] = 0.99 * v[i] + 0.01 * clipped * clipped;
      double const m_hat = m[i] / (1 - std::pow(0.9, t)), v_hat = v[i] / (1 - std::pow(0.99, t));
      value[i] -= rate * m_hat / (std::sqrt(v_hat) + 1e-3);
      value[i] -= rate * 0.1 * value[i];
      p.gradient()[i] = g[i];
    }
    CHECK(update.step(s.c, params, static_cast<std::uint64_t>(t), rate) == doctest::Approx(norm));
    for (int i = 0; i < 2; ++i) {
      // torch's clipping divides by norm + 1e-6.
      CHECK(p.value()[i] == doctest::Approx(value[i]).epsilon(1e-6));
      CHECK(p.gradient()[i] == 0);
    }
  }
}
TEST_CASE("schedules") {
  schedule s{schedule::kind::rsqrt, 0.05, 1000, 5000};
  CHECK(s.at(500) == doctest::Approx(0.05 * 0.5 / std::sqrt(1000.0)));
  CHECK(s.at(4000) == doctest::Approx(0.05 / std::sqrt(4000.0)));
  s.type = schedule::kind::linear;
  CHECK(s.at(250) == doctest::Approx(0.05 / 4));
  CHECK(s.at(1000) == doctest::Approx(0.05));
  CHECK(s.at(3000) == doctest::Approx(0.025));
  CHECK(s.at(5000) == 0);
  s.type = schedule::kind::cosine;
  CHECK(s.at(500) == doctest::Approx(0.025 * (1 + std::cos(3.14159265358979 / 10)) / 2));
  CHECK(s.at(2500) == doctest::Approx(0.025));
  CHECK(s.at(5000) == doctest::Approx(0).scale(1e-9));
  s.type = schedule::kind::constant;
  CHECK(s.at(100) == doctest::Approx(0.005));
  CHECK(s.at(4999) == 0.05);
}
