// SPDX-License-Identifier: Apache-2.0
// Bias layouts: dense or relative, full or broadcast over batch and heads, with every layout of the
// gradient. Checked against the oracle, by finite differences, and bit for bit between execution
// policies. library_masks.cpp tests them with the library's masks.
#include "masks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

template <class T>
double max_error(std::vector<T> const& actual_values, std::vector<bounded> const& expected) {
  long double worst = 0;
  for (std::size_t i = 0; i < actual_values.size(); ++i)
    worst = max_or_nan(worst, std::fabs(actual_values[i] - expected[i].value));
  return static_cast<double>(worst);
}

constexpr unsigned shared_dbias = dbias_shares_samples | dbias_shares_heads;

}  // namespace

TEST_CASE_TEMPLATE("every bias layout, in every memory layout", T, float, double) {
  for (unsigned layout_bits = 0; layout_bits < bias_layout_cases; ++layout_bits) {
    attention_size const size{2, 3, layout_bits % 3 == 0 ? 70 : 21, layout_bits % 2 == 0 ? 18 : 61,
                              4, 6};
    auto p = problem_with_bias_layouts<T>(size, layout_bits, 1000 + layout_bits);
    p.mask = {mask_kind::causal, 5, 0};
    solved_attention<T> const solved(p);
    memory_layout const layout{static_cast<int>(layout_bits) % memory_layout::count};
    CHECK(check_attention(solved, ss::exec::host{3}, layout) == "");
  }
}

TEST_CASE("a shared gradient for more keys than a tile has") {
  auto const p = problem_with_bias_layouts<float>({2, 2, 9, 150, 4, 6}, shared_dbias, 1200);
  CHECK(check_attention(solved_attention<float>(p), ss::exec::host{2}) == "");
}

// 0 to 2 queries and 0 to 3 keys.
TEST_CASE("small sizes") {
  std::uint64_t seed = 2000;
  for (index_t queries : {0, 1, 2})
    for (index_t keys : {0, 1, 3})
      for (index_t batch : {0, 2})
        for (unsigned layout_bits = 0; layout_bits < bias_layout_cases; layout_bits += 3, ++seed) {
          if (queries + keys == 0) continue;
          auto p = with_bias_layouts(
              normal_attention<float>({batch, 2, queries, keys, 3, 2}, {}, seed, true), layout_bits,
              seed);
          if (seed % 3 == 0) p.mode = ss::grad_mode::accumulate;
          CHECK(check_attention(solved_attention<float>(p), ss::exec::host{2}) == "");
        }
}

TEST_CASE("double gradients match long double to 1e-12") {
  for (unsigned layout_bits = 1; layout_bits < bias_layout_cases; ++layout_bits) {
    auto p =
        problem_with_bias_layouts<double>({2, 2, 9, 11, 5, 7}, layout_bits, 3000 + layout_bits);
    p.mode = ss::grad_mode::overwrite;
    solved_attention<double> const solved(p);
    auto const check = [&](auto algorithm) {
      ss::exec::host const exec;
      auto const actual = run_attention(p, exec, algorithm);
      auto const& expected = solved.template expected<decltype(algorithm)>(true, false);
      CHECK(max_error(actual.dq, expected.dq) <= 1e-12);
      CHECK(max_error(actual.dk, expected.dk) <= 1e-12);
      CHECK(max_error(actual.dv, expected.dv) <= 1e-12);
      CHECK(max_error(actual.dbias, expected.dbias) <= 1e-12);
    };
    check(ss::streaming{});
    check(ss::materialized<>{});
  }
}

// Central differences as in gradients.cpp, for a bias and a gradient of the same shape.
TEST_CASE("gradients match finite differences") {
  double const step = std::ldexp(1.0, -17);
  for (unsigned broadcast_axes = 0; broadcast_axes < 4; ++broadcast_axes)
    for (unsigned relative : {0u, unsigned{relative_bias}}) {
      bool const shares_samples = (broadcast_axes & 1) != 0,
                 shares_heads = (broadcast_axes & 2) != 0;
      unsigned const shared_axes =
          (shares_samples ? bias_shares_samples | dbias_shares_samples : 0u) |
          (shares_heads ? bias_shares_heads | dbias_shares_heads : 0u);
      auto p = with_bias_layouts(
          normal_attention<double>({2, 2, 7, 9, 3, 4}, {mask_kind::causal, 3, 0}, 90, true),
          relative | shared_axes, 4000 + broadcast_axes);
      p.lengths = {9, 6};
      auto const check = [&](auto algorithm) {
        ss::exec::host const exec;
        auto const actual = run_attention(p, exec, algorithm);
        auto const loss = [&] {
          auto const y = run_attention(p, exec, algorithm).y;
          double sum = 0;
          for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * p.dy[i];
          return sum;
        };
        REQUIRE(actual.dbias.size() == p.bias.size());
        double max_gradient = 0;
        for (std::size_t i = 0; i < p.bias.size(); i += 5) {
          double const value = p.bias[i];
          p.bias[i] = value + step;
          double const loss_above = loss();
          p.bias[i] = value - step;
          double const loss_below = loss();
          p.bias[i] = value;
          CHECK(std::fabs((loss_above - loss_below) / (2 * step) - actual.dbias[i]) <= 2e-9);
          max_gradient = std::max(max_gradient, std::fabs(actual.dbias[i]));
        }
        CHECK(max_gradient > 0.1);
      };
      check(ss::streaming{});
      check(ss::materialized<>{});
    }
}

// A relative and a broadcast bias gradient, with and without gathered keys.
TEST_CASE_TEMPLATE("same bits for every thread count, executor and instruction set", T, float,
                   double, bfloat16) {
  auto const check = [](auto const& problem) {
    CAPTURE(problem.describe());
    CHECK(find_policies_changing_bits(problem, ss::streaming{}) == "");
    CHECK(find_policies_changing_bits(problem, ss::materialized<>{}) == "");
  };
  attention_size const size{2, 2, 100, 140, 6, 5};
  auto p = problem_with_bias_layouts<T>(
      size, sizeof(T) == 4 ? unsigned{relative_bias} : shared_dbias, 5002);
  p.mask = {mask_kind::causal, 0, 0};
  check(p);
  auto gathered = problem_with_bias_layouts<T>(
      size, sizeof(T) == 4 ? shared_dbias : relative_bias | shared_dbias, 5004);
  if (has_every_mask<T>) gathered.sparse = sparse_mask{sparse_kind::stripes, 16, 1};
  check(gathered);
}

TEST_CASE("each gradient computed alone") {
  auto const check = [&](auto algorithm) {
    for (unsigned layout_bits : {unsigned{relative_bias}, unsigned{dbias_shares_samples},
                                 relative_bias | shared_dbias, unsigned{dbias_differs}})
      CHECK(find_gradients_changed_when_alone(
                problem_with_bias_layouts<float>({2, 2, 70, 90, 5, 6}, layout_bits, 6000),
                ss::exec::host{2}, algorithm) == "");
  };
  check(ss::streaming{});
  check(ss::materialized<>{});
}

TEST_CASE("workspace") {
  ss::softmax_attention<> const op;
  ss::exec::host const exec{2};
  ss::extents4 const q{2, 4, 1000, 64}, k{2, 4, 3000, 64};
  auto const bytes = [&](ss::extents4 dbias) {
    return op.workspace_bytes<float>(exec, q, k, dbias);
  };
  CHECK(bytes({}) == op.workspace_bytes<float>(exec, q, k));
  CHECK(bytes({2, 4, 1000, 3000}) == bytes({}));
  CHECK(bytes({1, 4, 1, 3999}) <= bytes({}) + 8 * 3999 * sizeof(float) + 64);
  // The workspace does not grow with the number of pairs.
  CHECK(bytes({1, 1, 1000, 3000}) <= bytes({}) + std::size_t{2} * 3000 * 64 * sizeof(float));
  auto const status = op.workspace_bytes<float>(ss::exec::dry_run{exec}, q, k, {1, 4, 1, 3998});
  CHECK(
      std::string(status.message) ==
      "softmax_attention.workspace_bytes: dbias.keys is 3998, must be 3999 (q.length + k.length - "
      "1) where dbias.queries is 1");
}
