// SPDX-License-Identifier: Apache-2.0
// softmax_attention's gradients: long double to 1e-12, difference quotients, adjoints, what
// cancels, gradients that are left out or added to.
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

// f(on, algorithm) for every backend and both algorithms.
template <class F>
void for_each_way(std::uint64_t number, F const& f) {
  for_each_backend_once(number, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    f(exec, ss::streaming{});
    f(exec, ss::materialized<>{});
  });
}

attention_problem<double> gradient_problem(int kind, std::uint64_t seed) {
  attention_size const size{2, 2, 9, 11, 5, 7};
  auto p = normal_attention<double>(size, any_mask(kind, size, seed), seed, true);
  p.lengths = {11, 8};
  p.query_lengths = {7, 9};
  if (seed % 2 == 0) p.scale = -0.7;
  return p;
}

template <class A, class B>
double sum_of_products(std::vector<A> const& a, std::vector<B> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

TEST_CASE("gradients in double, to 1e-12") {
  for (int kind = 0; kind < mask_kinds; ++kind) {
    auto const p = gradient_problem(kind, 40 + static_cast<std::uint64_t>(kind));
    solved_attention<double> const s(p);
    for_each_way(p.number(), [&](any_exec const& exec, auto algorithm) {
      auto const got = run_attention(p, exec, algorithm);
      auto const& want = s.template answer<decltype(algorithm)>(host_isa(exec).has_value(), false);
      auto const farthest = [](std::vector<double> const& is, std::vector<bounded> const& must) {
        long double worst = 0;
        for (std::size_t i = 0; i < is.size(); ++i)
          worst = std::max(worst, std::fabs(is[i] - must[i].value));
        return worst;
      };
      CHECK(farthest(got.dq, want.dq) <= 1e-12L);
      CHECK(farthest(got.dk, want.dk) <= 1e-12L);
      CHECK(farthest(got.dv, want.dv) <= 1e-12L);
      CHECK(farthest(got.dbias, want.dbias) <= 1e-12L);
      CHECK(farthest(got.y, want.y) <= 1e-13L);
    });
  }
}

// Central differences with a step of 2^-17 leave h^2 / 6 times a third derivative, some 1e-10 here,
// and rounding over the step, some 1e-10.
TEST_CASE("difference quotients") {
  double const step = std::ldexp(1.0, -17);
  for (int kind : {0, 1, 6}) {
    auto p = gradient_problem(kind, 60 + static_cast<std::uint64_t>(kind));
    for_each_way(p.number(), [&](any_exec const& exec, auto algorithm) {
      auto const op = p.op(algorithm);
      guarded_workspace scratch(op.template workspace_bytes<double>(exec, p.size.q(), p.size.v()));
      auto const loss = [&] {
        std::vector<double> y(p.dy.size());
        op.forward(exec,
                   {{p.q.data(), p.size.q()},
                    {p.k.data(), p.size.k()},
                    {p.v.data(), p.size.v()},
                    {p.bias.data(), p.size.map()}},
                   tensor4<double>(y.data(), p.size.y()), ss::no_saved, scratch.get(), p.options());
        return sum_of_products(y, p.dy);
      };
      auto const got = run_attention(p, exec, algorithm);
      auto const check = [&](std::vector<double>& variables, std::vector<double> const& gradient,
                             std::size_t every) {
        double worst = 0, most = 0;
        for (std::size_t i = 0; i < variables.size(); i += every) {
          double const here = variables[i];
          variables[i] = here + step;
          double const above = loss();
          variables[i] = here - step;
          double const below = loss();
          variables[i] = here;
          worst = std::max(worst, std::fabs((above - below) / (2 * step) - gradient[i]));
          most = std::max(most, std::fabs(gradient[i]));
        }
        CHECK(worst <= 2e-9);
        CHECK(most > 0.1);
      };
      check(p.q, got.dq, 7);
      check(p.k, got.dk, 7);
      check(p.v, got.dv, 11);
      check(p.bias, got.dbias, 17);
    });
  }
}

// y is linear in v: <dy, P v> = <P' dy, v>. Softmax does not change when all scores of a query do:
// the gradients of a query's bias add up to 0. Scaling q or k is one change: <dq, q> = <dk, k> =
// <dbias, scale q k'>.
TEST_CASE("adjoints, and what cancels") {
  for (int kind = 0; kind < mask_kinds; ++kind) {
    auto const p = gradient_problem(kind, 80 + static_cast<std::uint64_t>(kind));
    for_each_way(p.number(), [&](any_exec const& exec, auto algorithm) {
      auto const got = run_attention(p, exec, algorithm);
      double const left = sum_of_products(p.dy, got.y);
      CHECK(std::fabs(left - sum_of_products(got.dv, p.v)) <= 1e-12);
      double const along_q = sum_of_products(got.dq, p.q);
      CHECK(std::fabs(along_q - sum_of_products(got.dk, p.k)) <= 1e-12);
      if (kind == 0) CHECK(std::fabs(along_q) > 0.01);
      double along_scores = 0;
      for (index_t b = 0; b < 2; ++b)
        for (index_t h = 0; h < 2; ++h)
          for (index_t i = 0; i < p.size.queries; ++i) {
            double sum = 0;
            for (index_t j = 0; j < p.size.keys; ++j) {
              double dot = 0;
              for (index_t c = 0; c < p.size.channels; ++c)
                dot += p.q[attention_size::at(p.size.q(), b, h, i, c)] *
                       p.k[attention_size::at(p.size.k(), b, h, j, c)];
              double const ds = got.dbias[attention_size::at(p.size.map(), b, h, i, j)];
              sum += ds;
              along_scores += ds * p.op(algorithm).scale(p.size.channels) * dot;
            }
            CHECK(std::fabs(sum) <= 1e-13);
          }
      CHECK(std::fabs(along_q - along_scores) <= 1e-12);
    });
  }
}

TEST_CASE_TEMPLATE("gradients that nobody asks for, and gradients that are added to", T, float,
                   double, float16, bfloat16) {
  attention_size const size{2, 2, 13, 18, 8, 5};
  for (unsigned wanted = 0; wanted < 16; ++wanted)
    for (ss::grad_mode mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
      auto p = normal_attention<T>(size, any_mask(static_cast<int>(wanted % mask_kinds), size, 7),
                                   100 + wanted, wanted % 3 == 0);
      p.wanted = wanted;
      p.mode = mode;
      p.lengths = {18, 11};
      p.query_lengths = {12, 13};
      solved_attention<T> const s(p);
      for_each_backend_once(p.number(),
                            [&](any_exec const& exec) { CHECK(check_attention(s, exec) == ""); });
    }
}

// What is asked for besides changes no bit.
TEST_CASE_TEMPLATE("each gradient alone has the bits of all at once", T, float, bfloat16) {
  attention_size const size{1, 2, 35, 37, 8, 9};
  auto const p = normal_attention<T>(size, any_mask(1, size, 5), 130, true);
  for_each_way(p.number(), [&](any_exec const& exec, auto algorithm) {
    CHECK(changed_when_alone(p, exec, algorithm) == "");
  });
}

// Sums of 16-bit types are formed in float: 300 equal parts of 1, of which half the format's steps
// would be lost.
TEST_CASE_TEMPLATE("sums of 16-bit types do not stop growing", T, float16, bfloat16) {
  attention_size const size{1, 1, 600, 1, 1, 1};
  auto p = normal_attention<T>(size, {}, 150);
  for (T& dy : p.dy) dy = from_double<T>(1);
  for_each_way(p.number(), [&](any_exec const& exec, auto algorithm) {
    auto const got = run_attention(p, exec, algorithm);
    CHECK(decode(got.dv[0]).value == 600);
  });
}
