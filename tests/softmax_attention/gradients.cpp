// SPDX-License-Identifier: Apache-2.0
// Gradients of softmax_attention: within 1e-12 of long double, finite differences, adjoints, sums
// that cancel, and omitted and accumulated gradients.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

// Calls f(exec, algorithm) for every backend and both algorithms.
template <class F>
void for_each_backend_and_algorithm(std::uint64_t seed, F const& f) {
  for_each_backend_once(seed, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    f(exec, ss::streaming{});
    f(exec, ss::materialized<>{});
  });
}

attention_problem<double> gradient_problem(mask_kind kind, std::uint64_t seed) {
  attention_size const size{2, 2, 9, 11, 5, 7};
  auto p = normal_attention<double>(size, random_mask(kind, size, seed), seed, true);
  p.lengths = {11, 8};
  p.query_lengths = {7, 9};
  if (seed % 2 == 0) p.scale = -0.7;
  return p;
}

}  // namespace

TEST_CASE("double gradients match long double to 1e-12") {
  for (mask_kind kind : all_mask_kinds) {
    auto const p = gradient_problem(kind, 40 + static_cast<std::uint64_t>(kind));
    solved_attention<double> const solved(p);
    for_each_backend_and_algorithm(p.backend_seed(), [&](any_exec const& exec, auto algorithm) {
      auto const actual = run_attention(p, exec, algorithm);
      auto const& expected =
          solved.template expected<decltype(algorithm)>(host_isa(exec).has_value(), false);
      auto const max_error = [](std::vector<double> const& values,
                                std::vector<bounded> const& bounds) {
        long double worst = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
          worst = max_or_nan(worst, std::fabs(values[i] - bounds[i].value));
        return worst;
      };
      CHECK(max_error(actual.dq, expected.dq) <= 1e-12L);
      CHECK(max_error(actual.dk, expected.dk) <= 1e-12L);
      CHECK(max_error(actual.dv, expected.dv) <= 1e-12L);
      CHECK(max_error(actual.dbias, expected.dbias) <= 1e-12L);
      CHECK(max_error(actual.y, expected.y) <= 1e-13L);
    });
  }
}

// Central differences with step h = 2^-17 have an error of h^2 / 6 times a third derivative, about
// 1e-10 here, and rounding errors over h, about 1e-10.
TEST_CASE("gradients match finite differences") {
  double const step = std::ldexp(1.0, -17);
  for (mask_kind kind : {mask_kind::full, mask_kind::causal, mask_kind::scattered}) {
    auto p = gradient_problem(kind, 60 + static_cast<std::uint64_t>(kind));
    for_each_backend_and_algorithm(p.backend_seed(), [&](any_exec const& exec, auto algorithm) {
      auto const op = p.op(algorithm);
      guarded_workspace scratch(op.template workspace_bytes<double>(exec, p.size.q(), p.size.v()));
      auto const loss = [&] {
        std::vector<double> y(p.dy.size());
        op.forward(exec,
                   {{p.q.data(), p.size.q()},
                    {p.k.data(), p.size.k()},
                    {p.v.data(), p.size.v()},
                    {p.bias.data(), p.size.pairs()}},
                   tensor4<double>(y.data(), p.size.y()), ss::no_saved, scratch.get(), p.options());
        return sum_of_products(y, p.dy);
      };
      auto const actual = run_attention(p, exec, algorithm);
      auto const check = [&](std::vector<double>& variables, std::vector<double> const& gradient,
                             std::size_t stride) {
        double worst = 0, max_gradient = 0;
        for (std::size_t i = 0; i < variables.size(); i += stride) {
          double const value = variables[i];
          variables[i] = value + step;
          double const loss_above = loss();
          variables[i] = value - step;
          double const loss_below = loss();
          variables[i] = value;
          worst =
              max_or_nan(worst, std::fabs((loss_above - loss_below) / (2 * step) - gradient[i]));
          max_gradient = std::max(max_gradient, std::fabs(gradient[i]));
        }
        CHECK(worst <= 2e-9);
        CHECK(max_gradient > 0.1);
      };
      check(p.q, actual.dq, 7);
      check(p.k, actual.dk, 7);
      check(p.v, actual.dv, 11);
      check(p.bias, actual.dbias, 17);
    });
  }
}

// y is linear in v: <dy, P v> = <P' dy, v>. Softmax is invariant to a shift of a query's scores, so
// the gradients of a query's bias sum to 0. Scaling q and scaling k are equivalent: <dq, q> =
// <dk, k> = <dbias, scale q k'>.
TEST_CASE("adjoints, and sums that cancel") {
  for (mask_kind kind : all_mask_kinds) {
    auto const p = gradient_problem(kind, 80 + static_cast<std::uint64_t>(kind));
    for_each_backend_and_algorithm(p.backend_seed(), [&](any_exec const& exec, auto algorithm) {
      auto const actual = run_attention(p, exec, algorithm);
      double const dot_v = sum_of_products(p.dy, actual.y);
      CHECK(std::fabs(dot_v - sum_of_products(actual.dv, p.v)) <= 1e-12);
      double const dot_q = sum_of_products(actual.dq, p.q);
      CHECK(std::fabs(dot_q - sum_of_products(actual.dk, p.k)) <= 1e-12);
      if (kind == mask_kind::full) CHECK(std::fabs(dot_q) > 0.01);
      double dot_scores = 0;
      for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 2; ++h)
          for (index_t i = 0; i < p.size.queries; ++i) {
            double sum = 0;
            for (index_t j = 0; j < p.size.keys; ++j) {
              double dot = 0;
              for (index_t c = 0; c < p.size.channels; ++c)
                dot += p.q[attention_size::offset_of(p.size.q(), b, h, i, c)] *
                       p.k[attention_size::offset_of(p.size.k(), b, h, j, c)];
              double const ds = actual.dbias[attention_size::offset_of(p.size.pairs(), b, h, i, j)];
              sum += ds;
              dot_scores += ds * p.op(algorithm).scale(p.size.channels) * dot;
            }
            CHECK(std::fabs(sum) <= 1e-13);
          }
      CHECK(std::fabs(dot_q - dot_scores) <= 1e-12);
    });
  }
}

TEST_CASE_TEMPLATE("omitted and accumulated gradients", T, float, double, float16, bfloat16) {
  attention_size const size{2, 2, 13, 18, 8, 5};
  for (unsigned requested = 0; requested <= all_gradients; ++requested)
    for (ss::grad_mode mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
      auto p = normal_attention<T>(size, random_mask(mask_kind_of(requested), size, 7),
                                   100 + requested, requested % 3 == 0);
      p.requested = requested;
      p.mode = mode;
      p.lengths = {18, 11};
      p.query_lengths = {12, 13};
      solved_attention<T> const solved(p);
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CHECK(check_attention(solved, exec) == "");
      });
    }
}

// The bits of a gradient do not depend on which others are requested.
TEST_CASE_TEMPLATE("a gradient computed alone has the same bits", T, float, bfloat16) {
  attention_size const size{1, 2, 35, 37, 8, 9};
  auto const p = normal_attention<T>(size, random_mask(mask_kind::causal, size, 5), 130, true);
  for_each_backend_and_algorithm(p.backend_seed(), [&](any_exec const& exec, auto algorithm) {
    CHECK(find_gradients_changed_when_alone(p, exec, algorithm) == "");
  });
}

// Sums of 16-bit types accumulate in float. A sum of ones in bfloat16 would stay at 256, and one in
// float16 at 2048.
TEST_CASE_TEMPLATE("sums of 16-bit types do not saturate", T, float16, bfloat16) {
  constexpr index_t queries = 4096;
  attention_size const size{1, 1, queries, 1, 1, 1};
  auto p = normal_attention<T>(size, {}, 150);
  for (T& dy : p.dy) dy = from_double<T>(1);
  for_each_backend_and_algorithm(p.backend_seed(), [&](any_exec const& exec, auto algorithm) {
    auto const actual = run_attention(p, exec, algorithm);
    CHECK(decode(actual.dv[0]).value == queries);
  });
}
