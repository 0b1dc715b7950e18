// SPDX-License-Identifier: Apache-2.0
// Gradients of linear_attention in double: the oracle's, and difference quotients of forward, for
// every feature, divisor and direction, of q, k, v and of w, which heads share or not.
#define SLICESORT_TEST_EVERY_BACKEND
#include "oracle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

// A divisor with a number between those of the queries: each side of at_least has some.
any_divisor divisor_between(linear_problem<double> p, std::size_t kind) {
  if (kind != 1) return divisor_number(kind, p.feature.index() == 5 ? 8 : 0.25);
  p.divisor = ss::divisor::none{};
  auto sums = linear_oracle<double>(p).sums();
  std::sort(sums.begin(), sums.end());
  std::size_t const middle = sums.size() / 2;
  return ss::divisor::at_least{static_cast<double>((sums[middle - 1] + sums[middle]) / 2)};
}

linear_problem<double> gradient_problem(any_feature feature, std::size_t divisor, bool causal,
                                        std::uint64_t seed) {
  auto p = normal_linear<double>({2, 2, 5, causal ? 5 : 6, 3, 2, 4}, feature, {}, causal, seed);
  p.divisor = divisor_between(p, divisor);
  return p;
}

double sum_of_products(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
std::vector<double> forward_alone(linear_problem<double> p) {
  p.wanted = 0;
  return run_linear(p, ss::exec::host{}).y;
}

// <dy, y> of the library. Maxima of random_exp are constants in gradients, and y depends on them
// unless eps is 0 both of the feature and of the divisor: of that feature the oracle's with the
// maxima held.
double loss(linear_problem<double> const& p, feature_maxima const* held) {
  if (held == nullptr) return sum_of_products(forward_alone(p), p.dy);
  auto const y = linear_oracle<double>(p, held).outputs();
  long double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * p.dy[i];
  return static_cast<double>(sum);
}

// Central differences with a step of 2^-17: its square, 6e-11, times a sixth of a third derivative,
// and 1e-16 over the step for rounding, for results of about 1. Every `every`-th element.
std::vector<double> quotients(linear_problem<double> p,
                              std::vector<double> linear_problem<double>::*of,
                              feature_maxima const* held, std::size_t every) {
  double const step = std::ldexp(1.0, -17);
  std::vector<double> all;
  for (std::size_t i = 0; i < (p.*of).size(); i += every) {
    double& x = (p.*of)[i];
    double const here = x;
    x = here + step;
    double const above = loss(p, held);
    x = here - step;
    all.push_back((above - loss(p, held)) / (2 * step));
    x = here;
  }
  return all;
}

struct quotients_of_all {
  static constexpr std::size_t every = 3;
  std::vector<double> q, k, v, w;

  quotients_of_all(linear_problem<double> const& p, feature_maxima const* held)
      : q(quotients(p, &linear_problem<double>::q, held, every)),
        k(quotients(p, &linear_problem<double>::k, held, every)),
        v(quotients(p, &linear_problem<double>::v, held, every)),
        w(quotients(p, &linear_problem<double>::w, held, every)) {}

  void check(linear_results<double> const& got) const {
    near(got.dq, q);
    near(got.dk, k);
    near(got.dv, v);
    if (!w.empty()) near(got.dw, w);
  }

 private:
  static void near(std::vector<double> const& gradient, std::vector<double> const& differences) {
    double worst = 0, most = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      worst = std::max(worst, std::fabs(gradient[i * every] - differences[i]));
      most = std::max(most, std::fabs(differences[i]));
    }
    CHECK(worst <= 1e-8 * std::max(1.0, most));
    CHECK(most > 1e-4);
  }
};

}  // namespace

TEST_CASE("every feature, divisor and direction") {
  std::uint64_t seed = 40;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (std::size_t divisor = 0; divisor < divisor_kinds; ++divisor)
      for (bool causal : {false, true})
        for (bool shared_w : {false, true}) {
          if (shared_w && feature < 3) continue;
          seed += seed % 2 == (shared_w ? 0u : 1u) ? 2u : 1u;  // even ones share
          auto const p = gradient_problem(feature_number(feature, seed / 2), divisor, causal, seed);
          REQUIRE(p.shared_w == (shared_w && feature >= 3));
          CAPTURE(p.describe());
          linear_oracle<double> const oracle(p);
          auto const answer = oracle.answer();
          quotients_of_all const differences(p, feature == 3 ? &oracle.maxima() : nullptr);
          for_each_backend(p.number(), [&](any_exec const& exec) {
            CAPTURE(describe_exec(exec));
            auto const got = run_linear(p, exec);
            CHECK(check_linear(p, answer, got) == "");
            differences.check(got);
          });
        }
}

// Without eps nothing depends on maxima, so forward's own differences are the gradient's.
TEST_CASE("random_exp without eps") {
  for (bool causal : {false, true}) {
    auto p = gradient_problem(ss::feature::random_exp{0}, 0, causal, causal ? 90 : 91);
    p.divisor = ss::divisor::sum_plus{0};
    CAPTURE(p.describe());
    quotients_of_all const differences(p, nullptr);
    for_each_backend(p.number(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      differences.check(run_linear(p, exec));
    });
  }
}

// Across tiles of 64 rows, where the sums of earlier or later tiles take part.
TEST_CASE("several tiles") {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      std::uint64_t const seed = 100 + 2 * feature + (causal ? 1 : 0);
      auto p = normal_linear<double>({1, 1, 130, causal ? 130 : 67, 2, 2, 3},
                                     feature_number(feature, 1), {}, causal, seed);
      p.divisor = divisor_between(p, feature == 5 ? 0 : seed / 2 % 2);
      CAPTURE(p.describe());
      auto const answer = answer_of(p);
      for_each_backend_once(p.number(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        CHECK(check_linear(p, answer, run_linear(p, exec)) == "");
      });
    }
}

// y is linear in v: <dy, y> = <dv, v>. Where all weights grow alike y does not change: with
// sum_plus{0}, relu{0} of q times a number, so <dq, q> = 0.
TEST_CASE("adjoints, and what cancels") {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      auto const p = gradient_problem(feature_number(feature), 1, causal, 200 + feature);
      for_each_backend_once(p.number(), [&](any_exec const& exec) {
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        auto const got = run_linear(p, exec);
        double const left = sum_of_products(p.dy, got.y);
        CHECK(std::fabs(left - sum_of_products(got.dv, p.v)) <= 1e-11 * (1 + std::fabs(left)));
        auto scaled = p;
        scaled.feature = ss::feature::relu{0};
        scaled.divisor = ss::divisor::sum_plus{0};
        for (double& x : scaled.q) x = std::fabs(x) + 0.5;
        for (double& x : scaled.k) x = std::fabs(x) + 0.5;
        scaled.w.clear(), scaled.dw.clear();
        CHECK(std::fabs(sum_of_products(run_linear(scaled, exec).dq, scaled.q)) <= 1e-12);
      });
    }
}
