// SPDX-License-Identifier: Apache-2.0
// Dropout of attention weights: golden values, the oracle with and without a relative bias, finite
// differences, the same bits under every policy, rate 0, and mean and variance over seeds.
// library_masks.cpp tests it with the library's masks.
#include "masks.hpp"

#include <slicesort/detail/attention/dropout.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

template <class F>
void for_each_algorithm(F const& f) {
  f(ss::streaming{});
  f(ss::materialized<>{});
}

}  // namespace

// Golden values from the specification: rate 1/4, seed 3.
TEST_CASE("golden values") {
  attention_problem<double> p;
  p.size = {1, 1, 4, 4, 2, 2};
  p.q = {1, 0, 0, 1, 1, 1, -1, 2};
  p.k = {1, 1, 0, 2, -1, 1, 2, 0};
  p.v = {1, 0, 0, 1, 2, -1, 1, 3};
  p.dy = {1, 2, 0, 1, -1, 1, 2, 0};
  p.dq = p.dk = p.dv = p.dy;
  p.dbias.resize(16);
  p.dropout = {0.25, 3};
  double const expected[] = {1.2447991464, 2.2436384689, 1.0301339779, 0.7394290927,
                             0.8222542958, 1.6445085916, 0.1099915151, 0.8546683813};
  for_each_algorithm([&](auto algorithm) {
    auto const actual = run_attention(p, ss::exec::host{}, algorithm);
    for (std::size_t i = 0; i < 8; ++i) CHECK(std::fabs(actual.y[i] - expected[i]) <= 1e-10);
  });
  // Also checks the function with which kernels decide if a weight is kept.
  auto const config = ss::detail::dropout_config::make(p.dropout, 1);
  for (index_t c = 0; c < 16; ++c)
    CHECK(config.keeps(config.seed_of(0, 0) +
                       ss::detail::counter_step * static_cast<std::uint64_t>(c + 1)) ==
          (c != 10 && c != 14));
}

TEST_CASE_TEMPLATE("every memory layout, and each gradient computed alone", T, float, double) {
  for (int layout = 1; layout < memory_layout::count; ++layout) {
    auto p =
        problem_with_dropout<T>({2, 2, 51, 47, 6, 18}, 700 + static_cast<unsigned>(layout), 0.4);
    p.mask = {mask_kind::causal, 2, 0};
    solved_attention<T> const solved(p);
    CHECK(check_attention(solved, ss::exec::host{3}, memory_layout{layout}) == "");
    for_each_algorithm([&](auto algorithm) {
      CHECK(find_gradients_changed_when_alone(p, ss::exec::host{2}, algorithm) == "");
    });
  }
}

TEST_CASE("double gradients match long double to 1e-12, and finite differences") {
  double const step = std::ldexp(1.0, -17);
  for (std::uint64_t seed = 800; seed < 808; ++seed) {
    auto p = problem_with_dropout<double>({2, 2, 9, 11, 5, 7}, seed, 0.3);
    p.mode = ss::grad_mode::overwrite;
    solved_attention<double> const solved(p);
    for_each_algorithm([&](auto algorithm) {
      ss::exec::host const exec;
      auto const actual = run_attention(p, exec, algorithm);
      auto const& expected = solved.template expected<decltype(algorithm)>(true, false);
      auto const check_near = [](std::vector<double> const& values,
                                 std::vector<bounded> const& bounds) {
        for (std::size_t i = 0; i < values.size(); ++i)
          CHECK(std::fabs(values[i] - bounds[i].value) <= 1e-12L);
      };
      check_near(actual.dq, expected.dq), check_near(actual.dk, expected.dk),
          check_near(actual.dv, expected.dv);
      check_near(actual.dbias, expected.dbias);
      auto const loss = [&] {
        auto const y = run_attention(p, exec, algorithm).y;
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * p.dy[i];
        return sum;
      };
      auto const check = [&](std::vector<double>& variables, std::vector<double> const& gradient) {
        for (std::size_t i = 0; i < variables.size(); i += 29) {
          double const value = variables[i];
          variables[i] = value + step;
          double const loss_above = loss();
          variables[i] = value - step;
          double const loss_below = loss();
          variables[i] = value;
          CHECK(std::fabs((loss_above - loss_below) / (2 * step) - gradient[i]) <= 4e-9);
        }
      };
      check(p.q, actual.dq), check(p.k, actual.dk), check(p.v, actual.dv);
      if (p.bias.size() == p.dbias.size()) check(p.bias, actual.dbias);
    });
  }
}

TEST_CASE_TEMPLATE("same bits for every thread count, executor and instruction set", T, float,
                   double, bfloat16) {
  for (std::uint64_t seed : {900u, 903u}) {
    auto p = problem_with_dropout<T>({2, 2, 100, 140, 6, 5}, seed, 0.2);
    for_each_algorithm([&](auto algorithm) {
      CAPTURE(p.describe());
      p.sparse.reset();
      p.mask = {mask_kind::causal, 0, 0};
      CHECK(find_policies_changing_bits(p, algorithm) == "");
      if (!has_every_mask<T>) return;
      p.sparse = sparse_mask{sparse_kind::stripes, 16, 1};
      CHECK(find_policies_changing_bits(p, algorithm) == "");
    });
  }
}

// Calls on single samples and heads drop the same weights as one call, if their options give the
// positions of the sample and the head.
TEST_CASE_TEMPLATE("splitting the batch and the heads", T, float, bfloat16) {
  auto whole = normal_attention<T>({3, 4, 40, 70, 6, 7}, {mask_kind::causal, 30, 0}, 40);
  whole.requested = wants_dq | wants_dk | wants_dv;
  whole.dropout = {0.3, 40};
  for_each_algorithm([&](auto algorithm) {
    auto const expected = run_attention(whole, ss::exec::host{}, algorithm);
    for (index_t b = 0; b < 3; ++b)
      for (index_t h = 0; h < 4; ++h) {
        auto part = whole;
        part.size.batch = 1, part.size.heads = 1;
        part.dropout.first_sample = b, part.dropout.first_head = h, part.dropout.heads = 4;
        auto const slice = [&](auto const& whole_values) {
          auto const n = static_cast<std::ptrdiff_t>(whole_values.size() / 12);
          auto const first = whole_values.begin() + (b * 4 + h) * n;
          return std::decay_t<decltype(whole_values)>(first, first + n);
        };
        for (auto member : {&attention_problem<T>::q, &attention_problem<T>::k,
                            &attention_problem<T>::v, &attention_problem<T>::dy})
          part.*member = slice(whole.*member);
        auto const actual = run_attention(part, ss::exec::host{}, algorithm);
        CHECK(same_bits(actual.y, slice(expected.y)));
        CHECK(same_bits(actual.dq, slice(expected.dq)));
        CHECK(same_bits(actual.dk, slice(expected.dk)));
        CHECK(same_bits(actual.dv, slice(expected.dv)));
      }
  });
}

TEST_CASE_TEMPLATE("at rate 0 the seed has no effect, and the state never depends on it", T, float,
                   bfloat16) {
  auto p = normal_attention<T>({1, 2, 50, 60, 6, 7}, {mask_kind::causal, 4, 0}, 950, true);
  for_each_algorithm([&](auto algorithm) {
    p.dropout = {};
    auto const expected = run_attention(p, ss::exec::host{}, algorithm);
    p.dropout = {0, 12345};
    CHECK(same_results(run_attention(p, ss::exec::host{}, algorithm), expected));
    p.dropout = {0.5, 12345};
    auto const other = run_attention(p, ss::exec::host{}, algorithm);
    CHECK(same_bits(other.state, expected.state));
    CHECK(!same_bits(other.y, expected.y));
  });
}

TEST_CASE("rates so close to 0 or 1 that all or no weights are kept") {
  auto p = normal_attention<float>({1, 2, 20, 30, 6, 7}, {}, 960);
  for_each_algorithm([&](auto algorithm) {
    p.dropout = {};
    auto const expected = run_attention(p, ss::exec::host{}, algorithm);
    p.dropout = {1e-300, 1};
    CHECK(same_bits(run_attention(p, ss::exec::host{}, algorithm).y, expected.y));
    p.dropout = {1 - std::ldexp(1.0, -53), 1};
    for (float y : run_attention(p, ss::exec::host{}, algorithm).y) CHECK(y == 0);
  });
}

TEST_CASE("the hashes below the rate are dropped") {
  using ss::detail::dropout_config;
  constexpr std::uint64_t hash_input = 12345;
  auto const hash = static_cast<double>(ss::detail::mix64(hash_input) >> 32);
  auto const keeps_at = [](double hashes) {
    return dropout_config::make({std::ldexp(hashes, -32), 0}, 1).keeps(hash_input);
  };
  CHECK(keeps_at(hash));
  CHECK(!keeps_at(hash + 1));
}

// With v = 1 and equal weights 1 / M, y is the fraction of kept weights over 1 - rate. Over S seeds
// of N queries its mean has a standard error of sqrt(rate / (1 - rate) / (M N S)) around 1, and its
// variance is rate / (1 - rate) / M, with a relative standard error of about sqrt(2 / (N S)).
TEST_CASE("mean and variance over seeds") {
  index_t const queries = 64, keys = 100, seeds = 40;
  attention_problem<double> p;
  p.size = {1, 2, queries, keys, 1, 1};
  auto const count = [](extents4 e) { return static_cast<std::size_t>(e.size()); };
  p.q.resize(count(p.size.q())), p.k.resize(count(p.size.k()));
  p.v.assign(count(p.size.v()), 1.0);
  p.dy.resize(count(p.size.y()));
  p.dq = p.q, p.dk = p.k, p.dv = p.v, p.dbias.resize(count(p.size.pairs()));
  p.requested = 0;
  for (double rate : {0.1, 0.5, 0.8}) {
    double sum = 0, sum_of_squares = 0, n = 0;
    for (index_t seed = 0; seed < seeds; ++seed) {
      p.dropout = {rate, static_cast<std::uint64_t>(seed)};
      for (double y : run_attention(p, ss::exec::host{}, ss::streaming{}).y)
        sum += y - 1, sum_of_squares += (y - 1) * (y - 1), ++n;
    }
    double const variance = rate / (1 - rate) / static_cast<double>(keys);
    CHECK(std::fabs(sum / n) <= 5 * std::sqrt(variance / n));
    CHECK(std::fabs(sum_of_squares / n / variance - 1) <= 5 * std::sqrt(2 / n));
    CHECK(sum_of_squares > 0);
  }
}
