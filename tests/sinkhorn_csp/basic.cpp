// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp compared with transport matrices in long double, and properties of these matrices.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/sinkhorn_csp.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

// Cases that lose too much accuracy in single precision run in double only.
std::vector<sinkhorn_case> accuracy_cases(bool is_double) {
  auto const shifts = [](index_t channels) { return random_shifts(channels, 5); };
  return {
      {{1, 1, 2}, 1, 1.0, 1, shifts(2)},
      {{2, 2, 3}, 2, 0.5, 3, shifts(3)},
      {{1, 6, 1}, 3, 0.5, 3, shifts(1)},
      {{2, 12, 4}, 5, 0.3, 4, shifts(4), 2},
      {{2, 13, 6}, 4, 0.05, 2, shifts(6), 5},
      {{4, 11, 5}, 3, 0.7, 6, shifts(5), 1, {11, 0, 1, 7}},
      {{1, 16, 18}, 8, 1.0, 3, shifts(18), 17},
      {{1, 33, 2}, 33, 0.2, 2, shifts(2), 1},
      {{1, 70, 2}, 100, 0.5, 2, shifts(2)},  // a group with several partial sums
      {{2, 9, 3}, 9, is_double ? 0.01 : 0.1, is_double ? 20 : 5, shifts(3)},
  };
}

// Returns the rows of a channel in ascending order of `values`.
std::vector<index_t> argsort(std::vector<double> const& values) {
  std::vector<index_t> rows;
  for (std::size_t i = 0; i < values.size(); ++i) rows.push_back(static_cast<index_t>(i));
  std::sort(rows.begin(), rows.end(), [&](index_t a, index_t b) {
    return values[static_cast<std::size_t>(a)] < values[static_cast<std::size_t>(b)];
  });
  return rows;
}

}  // namespace

TEST_CASE_TEMPLATE("y and dx match the matrices", T, float, double) {
  std::uint64_t seed = 11;
  error_ratios worst;
  double worst_gradient = 0;
  for (sinkhorn_case const& p : accuracy_cases(std::is_same_v<T, double>)) {
    tensor<T> const x = normal_tensor<T>(p.e, ++seed), dy = normal_tensor<T>(p.e, ++seed);
    sinkhorn_results const expected = compute_expected(p, x, dy);
    for_each_backend_once(seed, [&](any_exec const& exec) {
      CAPTURE(p.e.length);
      CAPTURE(p.tau);
      CAPTURE(describe_exec(exec));
      auto const ratios = measure_errors(p, exec, x, dy, expected);
      CHECK(ratios.y <= 1);
      CHECK(ratios.dx <= 1);
      worst = {max_or_nan(worst.y, ratios.y), max_or_nan(worst.dx, ratios.dx)};
    });
    for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
      worst_gradient = std::max(worst_gradient, static_cast<double>(expected.dx_bound(b, n, c)));
    });
  }
  MESSAGE(type_name<T>() << ": errors take up " << static_cast<double>(worst.y) << " and "
                         << static_cast<double>(worst.dx) << " of their bounds; dx is bound within "
                         << worst_gradient);
}

TEST_CASE("the gradient in double matches dual numbers to nine digits") {
  sinkhorn_case const p{{2, 14, 5}, 6, 0.4, 5, random_shifts(5, 3), 3, {14, 10}};
  tensor<double> const x = normal_tensor<double>(p.e, 1), dy = normal_tensor<double>(p.e, 2);
  sinkhorn_results const expected = compute_expected(p, x, dy);
  for_each_backend_once(1, [&](any_exec const& exec) {
    tensor<double> y(p.e), dx(p.e);
    run_sinkhorn(p.op(), exec, x.view(), y.view(), dy.view(), dx.view(), view_of(p.lengths));
    for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
      CHECK(std::abs(static_cast<double>(expected.dx(b, n, c)) - dx(b, n, c)) <= 1e-9);
    });
  });
}

TEST_CASE("two rows: the limit in closed form") {
  // A doubly stochastic matrix of two rows is [p 1-p; 1-p p], here with
  // p / (1 - p) = exp((v0 - v1) (w0 - w1) / (2 tau)).
  for (double tau : {1.0, 2.0, 5.0}) {
    sinkhorn_case const p{{1, 2, 2}, 2, tau, 400, {0, 0}};
    tensor<double> x(p.e), y(p.e), dx(p.e);
    x.elements() = {0.75, -1.5, -0.5, 2.25};
    for_each_backend_once(2, [&](any_exec const& exec) {
      run_sinkhorn(p.op(), exec, std::as_const(x).view(), y.view(), std::as_const(x).view(),
                   dx.view(), {});
      double const odds = std::exp((0.75 + 0.5) * (-1.5 - 2.25) / (2 * tau));
      double const diagonal = odds / (1 + odds);
      CHECK(y(0, 0, 1) == doctest::Approx(diagonal * -1.5 + (1 - diagonal) * 2.25).epsilon(1e-12));
      CHECK(y(0, 1, 1) == doctest::Approx((1 - diagonal) * -1.5 + diagonal * 2.25).epsilon(1e-12));
    });
  }
}

TEST_CASE("columns always sum to 1, rows after convergence") {
  // The mean of a group is unchanged, and a constant added to w is added to y.
  sinkhorn_case p{{1, 12, 4}, 6, 1.0, 3, random_shifts(4, 9), 0};
  tensor<double> const x = normal_tensor<double>(p.e, 4);
  tensor<double> raised_x = x;
  for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
    if (c != 0) raised_x(b, n, c) += 3;
  });
  for_each_backend_once(3, [&](any_exec const& exec) {
    tensor<double> y(p.e), dx(p.e), raised_y(p.e);
    double first_row_error = 0;
    for (index_t iterations : {1, 80}) {
      p.iterations = iterations;
      run_sinkhorn(p.op(), exec, x.view(), y.view(), x.view(), dx.view(), {});
      run_sinkhorn(p.op(), exec, std::as_const(raised_x).view(), raised_y.view(), x.view(),
                   dx.view(), {});
      double row_error = 0;
      for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
        if (c == 0) return;
        if (n % p.group == 0) {
          double sum_before = 0, sum_after = 0;
          for (index_t i = n; i < n + p.group; ++i) {
            sum_before += x(b, p.source(i, c, p.e.length), c);
            sum_after += y(b, i, c);
          }
          CHECK(sum_after == doctest::Approx(sum_before).epsilon(1e-12).scale(10));
        }
        row_error = max_or_nan(row_error, std::abs(raised_y(b, n, c) - y(b, n, c) - 3));
      });
      if (iterations == 1)
        first_row_error = row_error;
      else
        CHECK(row_error < 1e-9);
    }
    CHECK(first_row_error > 0.01);  // otherwise the test would be trivial
  });
}

TEST_CASE("Theorem 2: the result converges to csp as tau decreases") {
  // Values have a spacing of about 0.5, so that no two matchings of a group have nearly the same
  // cost.
  extents3 const e{1, 8, 3};
  index_t const group = 4;
  tensor<double> x(e);
  for (index_t c = 0; c < e.channels; ++c) {
    random_stream random(static_cast<std::uint64_t>(c) + 40);
    std::vector<double> column;
    for (index_t n = 0; n < e.length; ++n)
      column.push_back(0.5 * static_cast<double>(n) - 1.75 + 0.02 * random.unit());
    for (std::size_t n = column.size() - 1; n > 0; --n)
      std::swap(column[n], column[random.below(n + 1)]);
    x.set_column(0, c, column);
  }
  ss::csp<ss::shift::linear, ss::reference> const csp{ss::group_size{group}};
  tensor<double> limit(e), by_csp(e);
  for (index_t c = 0; c < e.channels; ++c)
    for (index_t begin = 0; begin < e.length; begin += group) {
      index_t const shift = c == 0 ? 0 : (c + 1) * 3 % e.length;
      std::vector<double> v, w;
      for (index_t n = begin; n < begin + group; ++n) {
        v.push_back(x(0, n, 0));
        w.push_back(x(0, (n - shift + e.length) % e.length, c));
      }
      auto const order_of_v = argsort(v), order_of_w = argsort(w);
      for (std::size_t k = 0; k < v.size(); ++k)
        limit(0, begin + order_of_v[k], c) = w[static_cast<std::size_t>(order_of_w[k])];
    }
  ss::exec::host const host;
  guarded_workspace csp_scratch(csp.workspace_bytes<double>(host, e));
  csp.forward(host, std::as_const(x).view(), by_csp.view(), ss::no_saved, csp_scratch.get());
  CHECK(same_bits(by_csp.elements(), limit.elements()));
  for_each_backend_once(4, [&](any_exec const& exec) {
    auto const max_error = [&](double tau, index_t iterations) {
      auto const op = ss::sinkhorn_csp{ss::group_size{group}, ss::sinkhorn{tau, iterations}};
      guarded_workspace scratch(op.template workspace_bytes<double>(exec, e));
      tensor<double> y(e);
      op.forward(exec, std::as_const(x).view(), y.view(), scratch.get());
      double worst_error = 0;
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        worst_error = max_or_nan(worst_error, std::abs(y(b, n, c) - limit(b, n, c)));
      });
      return worst_error;
    };
    double previous_error = std::numeric_limits<double>::infinity();
    for (double tau : {0.3, 0.1, 0.03, 0.01}) {
      // A lower temperature converges more slowly.
      double const error = max_error(tau, static_cast<index_t>(30 / tau));
      CAPTURE(tau);
      CHECK(error < previous_error);
      previous_error = error;
    }
    // The remaining error is inversely proportional to the number of iterations.
    double const error_after_twice_as_many = max_error(0.01, 6000);
    CHECK(error_after_twice_as_many < 0.52 * previous_error);
    CHECK(max_error(0.01, 12000) < 0.52 * error_after_twice_as_many);
  });
}

TEST_CASE_TEMPLATE("extreme inputs do not give NaN", T, float, double) {
  T const max = std::numeric_limits<T>::max(), min_positive = std::numeric_limits<T>::denorm_min();
  std::vector<T> const values = {max,     -max,    min_positive, T{0},
                                 T(-0.0), T(1e15), T(-3),        -min_positive};
  for (double tau : {1e-300, 1e-30, 1e-6, 1.0, 1e30, 1e300}) {
    sinkhorn_case const p{{1, 24, 3}, 8, tau, 4, {0, 3, 8}};
    random_stream random(9);
    tensor<T> x(p.e), y(p.e), dx(p.e);
    for (T& element : x.elements()) element = values[random.below(values.size())];
    for_each_backend_once(5, [&](any_exec const& exec) {
      run_sinkhorn(p.op(), exec, std::as_const(x).view(), y.view(), std::as_const(x).view(),
                   dx.view(), {});
      CAPTURE(tau);
      // Elements of the transport matrix T are at most 1, with 8 per row.
      for (T const& element : y.elements()) CHECK(decode(element).kind != number_class::nan);
    });
    // A moderate reference gives a finite gradient through T.
    for (index_t n = 0; n < p.e.length; ++n)
      for (index_t c = 0; c < 3; ++c) x(0, n, c) = static_cast<T>(random.normal() * 1000);
    for_each_backend_once(6, [&](any_exec const& exec) {
      run_sinkhorn(p.op(), exec, std::as_const(x).view(), y.view(), std::as_const(x).view(),
                   dx.view(), {});
      CAPTURE(tau);
      for (T const& element : y.elements()) CHECK(decode(element).kind == number_class::finite);
      if (tau >= 1e-6)
        for (T const& element : dx.elements()) CHECK(decode(element).kind == number_class::finite);
    });
  }
}

#if !defined(__FAST_MATH__)
TEST_CASE_TEMPLATE("a NaN affects its whole group and nothing else", T, float, double) {
  sinkhorn_case const p{{2, 12, 20}, 4, 0.5, 2, std::vector<std::int32_t>(20, 0), 1};
  tensor<T> const clean = normal_tensor<T>(p.e, 6);
  for (index_t channel : {0, 1}) {  // one of many, and the reference
    tensor<T> x = clean, y(p.e), dx(p.e);
    x(1, 6, channel) = std::numeric_limits<T>::quiet_NaN();
    for_each_backend_once(7, [&](any_exec const& exec) {
      run_sinkhorn(p.op(), exec, std::as_const(x).view(), y.view(), clean.view(), dx.view(), {});
      for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
        bool const in_group = b == 1 && 4 <= n && n < 8;
        if (c == p.reference) return;
        bool const is_affected = in_group && (channel == p.reference || c == channel);
        CHECK((decode(y(b, n, c)).kind == number_class::nan) == is_affected);
        CHECK((decode(dx(b, n, c)).kind == number_class::nan) == is_affected);
      });
    });
  }
}
#endif
