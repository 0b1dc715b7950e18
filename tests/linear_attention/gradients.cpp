// SPDX-License-Identifier: Apache-2.0
// Gradients of linear_attention in double, compared with the oracle and with finite differences of
// forward, for every feature map, divisor and direction. Covers q, k, v and w, with w shared by
// heads or not.
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

// Returns a divisor whose eps lies between the sums of the queries, so that both branches of
// at_least occur.
any_divisor divisor_between(linear_problem<double> problem, std::size_t kind) {
  if (kind != divisor_index::at_least)
    return make_divisor(kind, problem.feature.index() == feature_index::random_fourier ? 8 : 0.25);
  problem.divisor = ss::divisor::none{};
  auto sums = linear_oracle<double>(problem).weight_sums();
  std::sort(sums.begin(), sums.end());
  std::size_t const middle = sums.size() / 2;
  return ss::divisor::at_least{static_cast<double>((sums[middle - 1] + sums[middle]) / 2)};
}

linear_problem<double> gradient_problem(any_feature feature, std::size_t divisor, bool causal,
                                        std::uint64_t seed) {
  auto problem =
      normal_linear<double>({2, 2, 5, causal ? 5 : 6, 3, 2, 4}, feature, {}, causal, seed);
  problem.divisor = divisor_between(problem, divisor);
  return problem;
}

std::vector<double> run_forward(linear_problem<double> problem) {
  problem.gradients = 0;
  return run_linear(problem, ss::exec::host{}).y;
}

// <dy, y> computed by the library. Gradients treat the maxima of random_exp as constants, but y
// depends on them unless eps of both feature and divisor is 0. For random_exp, the oracle computes
// y with fixed maxima instead.
double loss(linear_problem<double> const& problem, feature_maxima const* fixed_maxima) {
  if (fixed_maxima == nullptr) return sum_of_products(run_forward(problem), problem.dy);
  auto const y = linear_oracle<double>(problem, fixed_maxima).outputs();
  long double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * problem.dy[i];
  return static_cast<double>(sum);
}

// Central differences of every `stride`-th element, with a step of 2^-17. The error is the squared
// step, 6e-11, times a sixth of the third derivative, plus a rounding error of 1e-16 over the step.
std::vector<double> finite_differences(linear_problem<double> problem,
                                       std::vector<double> linear_problem<double>::*tensor,
                                       feature_maxima const* fixed_maxima, std::size_t stride) {
  double const step = std::ldexp(1.0, -17);
  std::vector<double> result;
  for (std::size_t i = 0; i < (problem.*tensor).size(); i += stride) {
    double& x = (problem.*tensor)[i];
    double const center = x;
    x = center + step;
    double const above = loss(problem, fixed_maxima);
    x = center - step;
    result.push_back((above - loss(problem, fixed_maxima)) / (2 * step));
    x = center;
  }
  return result;
}

struct all_finite_differences {
  static constexpr std::size_t stride = 3;
  std::vector<double> q, k, v, w;

  all_finite_differences(linear_problem<double> const& problem, feature_maxima const* fixed_maxima)
      : q(finite_differences(problem, &linear_problem<double>::q, fixed_maxima, stride)),
        k(finite_differences(problem, &linear_problem<double>::k, fixed_maxima, stride)),
        v(finite_differences(problem, &linear_problem<double>::v, fixed_maxima, stride)),
        w(finite_differences(problem, &linear_problem<double>::w, fixed_maxima, stride)) {}

  void check(linear_results<double> const& actual) const {
    check_near(actual.dq, q);
    check_near(actual.dk, k);
    check_near(actual.dv, v);
    if (!w.empty()) check_near(actual.dw, w);
  }

 private:
  static void check_near(std::vector<double> const& gradient,
                         std::vector<double> const& differences) {
    double max_error = 0, largest = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      max_error = max_or_nan(max_error, std::fabs(gradient[i * stride] - differences[i]));
      largest = std::max(largest, std::fabs(differences[i]));
    }
    CHECK(max_error <= 1e-8 * std::max(1.0, largest));
    CHECK(largest > 1e-4);
  }
};

}  // namespace

TEST_CASE("every feature, divisor and direction") {
  std::uint64_t seed = 40;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (std::size_t divisor = 0; divisor < divisor_kinds; ++divisor)
      for (bool causal : {false, true})
        for (bool shared_w : {false, true}) {
          if (shared_w && feature < feature_index::random_exp) continue;
          seed += seed % 2 == (shared_w ? 0u : 1u) ? 2u : 1u;  // problems with even seeds share w
          auto const problem =
              gradient_problem(make_feature(feature, seed / 2), divisor, causal, seed);
          REQUIRE(problem.shared_w == (shared_w && feature >= feature_index::random_exp));
          CAPTURE(problem.describe());
          linear_oracle<double> const oracle(problem);
          auto const expected = oracle.answer();
          all_finite_differences const differences(
              problem, feature == feature_index::random_exp ? &oracle.maxima() : nullptr);
          for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
            CAPTURE(describe_exec(exec));
            auto const actual = run_linear(problem, exec);
            CHECK(check_linear(problem, expected, actual) == "");
            differences.check(actual);
          });
        }
}

// Without eps nothing depends on the maxima, so forward itself can be differentiated.
TEST_CASE("random_exp without eps") {
  for (bool causal : {false, true}) {
    auto problem = gradient_problem(ss::feature::random_exp{0}, divisor_index::sum_plus, causal,
                                    causal ? 90 : 91);
    problem.divisor = ss::divisor::sum_plus{0};
    CAPTURE(problem.describe());
    all_finite_differences const differences(problem, nullptr);
    for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      differences.check(run_linear(problem, exec));
    });
  }
}

// Several tiles of 64 rows, so that sums of earlier or later tiles contribute.
TEST_CASE("several tiles") {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      std::uint64_t const seed = 100 + 2 * feature + (causal ? 1 : 0);
      auto problem = normal_linear<double>({1, 1, 130, causal ? 130 : 67, 2, 2, 3},
                                           make_feature(feature, 1), {}, causal, seed);
      problem.divisor =
          divisor_between(problem, feature == feature_index::random_fourier ? 0 : seed / 2 % 2);
      CAPTURE(problem.describe());
      auto const expected = compute_expected(problem);
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        CHECK(check_linear(problem, expected, run_linear(problem, exec)) == "");
      });
    }
}

// y is linear in v: <dy, y> = <dv, v>. With sum_plus{0} and relu{0}, y does not change when q is
// scaled: <dq, q> = 0.
TEST_CASE("adjoints and invariances") {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      auto const problem =
          gradient_problem(make_feature(feature), divisor_index::at_least, causal, 200 + feature);
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(problem.describe());
        CAPTURE(describe_exec(exec));
        auto const actual = run_linear(problem, exec);
        double const product = sum_of_products(problem.dy, actual.y);
        CHECK(std::fabs(product - sum_of_products(actual.dv, problem.v)) <=
              1e-11 * (1 + std::fabs(product)));
        auto scaled = problem;
        scaled.feature = ss::feature::relu{0};
        scaled.divisor = ss::divisor::sum_plus{0};
        for (double& x : scaled.q) x = std::fabs(x) + 0.5;
        for (double& x : scaled.k) x = std::fabs(x) + 0.5;
        scaled.w.clear(), scaled.dw.clear();
        CHECK(std::fabs(sum_of_products(run_linear(scaled, exec).dq, scaled.q)) <= 1e-12);
      });
    }
}
