// SPDX-License-Identifier: Apache-2.0
// csp compared with three independent reference implementations, and its guarantees: outputs are
// permutations, the reference is unchanged, the matching is optimal, and backward is the exact
// transpose.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <slicesort/detail/math/row_division.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace support;

TEST_CASE_TEMPLATE("the three oracles agree with each other", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 0;
  for (std::size_t n : {1u, 2u, 3u, 7u, 16u, 33u, 64u})
    for (int k = 0; k < all_kinds; ++k) {
      ++seed;
      auto const x = make_column<T>(static_cast<input_kind>(k), n, seed);
      auto const reference =
          make_column<T>(static_cast<input_kind>((k + 3) % all_kinds), n, seed + 9);
      index_t const rows = static_cast<index_t>(n);
      index_t const groups[] = {1, 2, 3, 8, rows, rows + 5};
      csp_column const column{test_shift{seed}.shift(k, 1, rows), groups[seed % 6], seed % 3 != 0};
      csp_column const ascending{column.shift, column.group, true};
      for (bool aligned : {false, true}) {
        csp_column const& config = aligned ? ascending : column;
        std::vector<T> const* const followed = aligned ? &reference : nullptr;
        csp_rows const sorted = csp_by_sorting(config, x, followed);
        csp_rows const ranked = csp_by_ranks(config, x, followed);
        permutation_matrix const p = csp_matrix(config, x, followed);
        CAPTURE(n);
        CAPTURE(config.group);
        CAPTURE(config.shift);
        CHECK(sorted.order == ranked.order);
        CHECK(sorted.source == ranked.source);
        for (std::size_t i = 0; i < n; ++i) CHECK(p(i, sorted.source[i]) == 1);
      }
    }
}

namespace {

template <class T>
struct outputs {
  tensor<T> y, dx;
};
template <class T>
outputs<T> run(csp_problem<T> const& p, any_exec const& exec) {
  outputs<T> result{garbage_tensor<T>(p.extents()), garbage_tensor<T>(p.extents())};
  csp_runner(p)(exec, p.x.view(), result.y.view(), p.dy.view(), result.dx.view(),
                view_of(p.lengths));
  return result;
}

// Returns distinct values in every column, so that y identifies the source of every row.
tensor<float> distinct_rows(extents3 e, std::uint64_t seed) {
  random_stream random(seed);
  return tensor_of_columns<float>(e, [&](std::uint64_t) {
    std::vector<float> column(static_cast<std::size_t>(e.length));
    std::iota(column.begin(), column.end(), 0.0f);
    shuffle_rows(column, random);
    return column;
  });
}

}  // namespace

TEST_CASE_TEMPLATE("forward is P x and backward is P^T dy, with dense P", T, float, bfloat16) {
  for (index_t n : {1, 2, 3, 8, 17, 31, 64})
    for (index_t reference : {no_reference, index_t{2}}) {
      auto const seed = static_cast<std::uint64_t>(3 * n + reference);
      index_t const groups[] = {2, 3, 5, n, 16};
      auto const p = make_mixed_csp<T>({1, n, 9}, groups[seed % 5], reference, seed);
      for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
        auto const actual = run(p, exec);
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        for (index_t c = 0; c < 9; ++c) {
          auto const column = p.x.column(0, c),
                     leader = p.x.column(0, std::max<index_t>(reference, 0));
          permutation_matrix const matrix =
              csp_matrix(column_of(p, c), column, p.aligned() ? &leader : nullptr);
          CHECK(same_bits(matrix.times(column), actual.y.column(0, c)));
          CHECK(same_bits(matrix.transpose_times(p.dy.column(0, c)), actual.dx.column(0, c)));
        }
      });
    }
}

TEST_CASE("every column is permuted within its valid rows, and the reference is unchanged") {
  for (index_t n : {1, 2, 9, 64, 130, 400})
    for (index_t group : {1, 2, 5, 64, 400})
      for (index_t reference : {no_reference, index_t{0}, index_t{34}}) {
        std::vector<index_t> const lengths{n, n / 2};
        auto const seed = static_cast<std::uint64_t>(n + group);
        auto const p = make_csp_problem<float>(distinct_rows({2, n, 35}, seed), group, reference,
                                               irregular, seed, lengths);
        for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
          auto const actual = run(p, exec);
          CAPTURE(p.describe());
          CAPTURE(describe_exec(exec));
          bool is_permutation = true, keeps_reference = true;
          for (index_t b = 0; b < 2; ++b)
            for (index_t c = 0; c < 35; ++c) {
              auto before = p.x.column(b, c, p.rows(b)), after = actual.y.column(b, c, p.rows(b));
              if (p.aligned() && c == reference)
                keeps_reference = keeps_reference && before == after;
              std::sort(before.begin(), before.end());
              std::sort(after.begin(), after.end());
              is_permutation = is_permutation && before == after;
              for (index_t i = p.rows(b); i < n; ++i)
                is_permutation = is_permutation && actual.y(b, i, c) == p.x(b, i, c);
            }
          CHECK(is_permutation);
          CHECK(keeps_reference);
        });
      }
}

// Compares with the order that has the largest inner product with the reference (CSP paper, section
// 3.1), found by trying all orders in exact integer arithmetic.
TEST_CASE("the matching is optimal") {
  std::uint64_t seed = 100;
  for (index_t group = 1; group <= 7; ++group)
    for (index_t n : {group, 2 * group + 1, index_t{8}}) {
      ++seed;
      auto const p =
          make_csp_problem<float>(integer_tensor<float>({1, n, 4}, 6, seed), group, 1, up, seed);
      for_each_backend_once(seed, [&](any_exec const& exec) {
        auto const actual = run(p, exec);
        auto const leader = p.x.column(0, 1);
        for (index_t c = 0; c < 4; ++c) {
          auto const y = actual.y.column(0, c);
          auto const product_with = [&](std::size_t first, std::vector<float> const& rows) {
            return std::inner_product(rows.begin(), rows.end(),
                                      leader.begin() + static_cast<std::ptrdiff_t>(first), 0.0f);
          };
          for_each_group(y.size(), group, [&](std::size_t first, std::size_t end) {
            std::vector<float> rows = slice(y, first, end);
            float const matched = product_with(first, rows);
            float best = -1e9f;
            std::sort(rows.begin(), rows.end());
            do best = std::max(best, product_with(first, rows));
            while (std::next_permutation(rows.begin(), rows.end()));
            CHECK(matched == best);
          });
        }
      });
    }
}

TEST_CASE("backward is the exact transpose: <dy, P v> = <P' dy, v>") {
  for (index_t group : {1, 2, 5, 50})
    for (index_t reference : {no_reference, index_t{3}}) {
      extents3 const e{2, 50, 37};
      auto p =
          make_csp_problem<float>(integer_tensor<float>(e, 100, 8), group, reference, zigzag, 6);
      p.dy = integer_tensor<float>(e, 100, 9);
      for_each_backend_once(static_cast<std::uint64_t>(group), [&](any_exec const& exec) {
        auto const actual = run(p, exec);
        std::int64_t forward_product = 0, backward_product = 0, unpermuted_product = 0;
        for (std::size_t i = 0; i < p.x.elements().size(); ++i) {
          forward_product += static_cast<std::int64_t>(p.dy.elements()[i] * actual.y.elements()[i]);
          backward_product +=
              static_cast<std::int64_t>(actual.dx.elements()[i] * p.x.elements()[i]);
          unpermuted_product += static_cast<std::int64_t>(p.dy.elements()[i] * p.x.elements()[i]);
        }
        CHECK(forward_product == backward_product);
        CHECK(forward_product != unpermuted_product);  // otherwise no row moved
      });
    }
}

// Without ties, a small step does not change the order, so the finite difference is the derivative
// up to rounding. This includes the reference channel: its ranks are piecewise constant and
// contribute no gradient.
TEST_CASE("the gradient matches finite differences") {
  extents3 const e{1, 23, 4};
  constexpr double step = 1e-3;
  for (index_t group : {2, 5, 23})
    for (index_t reference : {no_reference, index_t{0}}) {
      auto x = tensor_of_columns<double>(e, [&](std::uint64_t column) {
        std::vector<double> v(23);
        std::iota(v.begin(), v.end(), -11.0);  // spacing 1, a thousand times the step
        random_stream random(column + 5);
        shuffle_rows(v, random);
        return v;
      });
      auto p = make_csp_problem<double>(x, group, reference, zigzag, 3);
      for (double& g : p.dy.elements())
        g = std::sin(static_cast<double>(&g - p.dy.elements().data()));
      for_each_backend_once(
          static_cast<std::uint64_t>(group + reference), [&](any_exec const& exec) {
            auto const loss = [&] {
              auto const y = run(p, exec).y;
              return std::inner_product(y.elements().begin(), y.elements().end(),
                                        p.dy.elements().begin(), 0.0);
            };
            auto const dx = run(p, exec).dx;
            double worst = 0;
            for (std::size_t i = 0; i < p.x.elements().size(); i += 3) {
              double const value = p.x.elements()[i];
              p.x.elements()[i] = value + step;
              double const above = loss();
              p.x.elements()[i] = value - step;
              double const below = loss();
              p.x.elements()[i] = value;
              worst = max_or_nan(worst, std::fabs((above - below) / (2 * step) - dx.elements()[i]));
            }
            // A sum of 92 products below 12 has an error of at most about 92 * 12 * 92 * 2^-53 /
            // step.
            CHECK(worst < 92.0 * 12 * 92 * 0x1p-53 / step);
          });
    }
}

TEST_CASE("division of row indices, by multiplication and by the fallback for large values") {
  constexpr index_t max_rows = index_t{1} << 31;
  for (index_t divisor : {index_t{1}, index_t{2}, index_t{3}, index_t{7}, index_t{641},
                          max_rows / 3, max_rows - 1, max_rows, max_rows + 1, 3 * max_rows}) {
    ss::detail::index_division const division(divisor);
    for (index_t n :
         {index_t{0}, index_t{1}, divisor - 1, divisor, divisor + 1, 5 * divisor - 1, 5 * divisor,
          max_rows - 2, max_rows - 1, max_rows, max_rows + 1, 7 * max_rows + 5}) {
      CAPTURE(divisor);
      CAPTURE(n);
      CHECK(division(n) == n / divisor);
    }
  }
}
