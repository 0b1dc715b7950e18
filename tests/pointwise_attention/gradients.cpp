// SPDX-License-Identifier: Apache-2.0
// Gradients of pointwise_attention: finite differences, adjoints, and omitted and accumulated
// gradients.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "softmax_attention/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

attention_problem<double> gradient_problem(mask_kind kind, std::uint64_t seed) {
  attention_size const size{2, 2, 9, 11, 5, 7};
  auto p = normal_attention<double>(size, random_mask(kind, size, seed), seed, true);
  p.lengths = {11, 8};
  p.query_lengths = {7, 9};
  p.scale = 0.7;
  p.per_key = seed % 2 == 0;
  return p;
}

}  // namespace

// Differences of fourth order with step h = 2^-13 have an error of h^4 / 30 times a fifth
// derivative, of up to 1e5 here, so 1e-12; and rounding errors of a loss of up to 1e3 over h, about
// 1e-9.
TEST_CASE("gradients match finite differences") {
  double const step = std::ldexp(1.0, -13);
  for (mask_kind kind : {mask_kind::full, mask_kind::causal, mask_kind::scattered}) {
    auto p = gradient_problem(kind, 60 + static_cast<std::uint64_t>(kind));
    for_each_score_function<double>([&](auto const& function, auto const&) {
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const actual = run_pointwise(p, function, exec);
        auto without_gradients = p;
        auto const check = [&](std::vector<double> attention_problem<double>::*variables,
                               std::vector<double> const& gradient, std::size_t stride) {
          double worst = 0, max_gradient = 0;
          auto& values = without_gradients.*variables;
          without_gradients.requested = 0;
          for (std::size_t i = 0; i < values.size(); i += stride) {
            double const value = values[i];
            auto const difference = [&](double distance) {
              double losses[2];
              for (int side : {0, 1}) {
                values[i] = value + (side == 0 ? -distance : distance);
                losses[side] =
                    sum_of_products(run_pointwise(without_gradients, function, exec).y, p.dy);
              }
              values[i] = value;
              return losses[1] - losses[0];
            };
            double const slope = (8 * difference(step) - difference(2 * step)) / (12 * step);
            worst = max_or_nan(worst, std::fabs(slope - gradient[i]));
            max_gradient = std::max(max_gradient, std::fabs(gradient[i]));
          }
          CHECK(worst <= 2e-9);
          CHECK(max_gradient > 0.05);
        };
        check(&attention_problem<double>::q, actual.dq, 7);
        check(&attention_problem<double>::k, actual.dk, 7);
        check(&attention_problem<double>::v, actual.dv, 11);
        check(&attention_problem<double>::bias, actual.dbias, 17);
      });
    });
  }
}

// y is linear in v: <dy, P v> = <P' dy, v>. Scaling q and scaling k are equivalent: <dq, q> =
// <dk, k>.
TEST_CASE("adjoints") {
  for (mask_kind kind : all_mask_kinds) {
    auto const p = gradient_problem(kind, 80 + static_cast<std::uint64_t>(kind));
    for_each_score_function<double>([&](auto const& function, auto const&) {
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const actual = run_pointwise(p, function, exec);
        double const dot_v = sum_of_products(p.dy, actual.y),
                     dot_q = sum_of_products(actual.dq, p.q);
        double const magnitude = 1 + std::fabs(dot_v) + std::fabs(dot_q);
        CHECK(std::fabs(dot_v - sum_of_products(actual.dv, p.v)) <= 1e-12 * magnitude);
        CHECK(std::fabs(dot_q - sum_of_products(actual.dk, p.k)) <= 1e-12 * magnitude);
        if (kind == mask_kind::full) CHECK(std::fabs(dot_q) > 0.01);
      });
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
      p.per_key = requested % 5 == 0;
      p.lengths = {18, 11};
      p.query_lengths = {12, 13};
      CHECK(pointwise_errors(p, [](std::uint64_t seed, auto const& f) {
              for_each_backend_once(seed, f);
            }) == "");
    }
}

// The bits of a gradient do not depend on which others are requested.
TEST_CASE_TEMPLATE("a gradient computed alone has the same bits", T, float, bfloat16) {
  attention_size const size{1, 2, 35, 37, 8, 9};
  auto const p = normal_attention<T>(size, random_mask(mask_kind::causal, size, 5), 130, true);
  for_each_score_function<T>([&](auto const& function, auto const&) {
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const together = run_pointwise(p, function, exec);
      auto const alone = [&](unsigned bit) {
        auto single = p;
        single.requested = bit;
        return run_pointwise(single, function, exec);
      };
      CHECK(same_bits(alone(wants_dq).dq, together.dq));
      CHECK(same_bits(alone(wants_dk).dk, together.dk));
      CHECK(same_bits(alone(wants_dv).dv, together.dv));
      CHECK(same_bits(alone(wants_dbias).dbias, together.dbias));
    });
  });
}
