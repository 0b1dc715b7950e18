// SPDX-License-Identifier: Apache-2.0
// Properties of linear_attention: earlier rows do not depend on later ones, random features
// approximate softmax, large inputs give finite results, a NaN only affects rows that attend to it,
// and sums of 16-bit types are accurate.
#define SLICESORT_TEST_EVERY_BACKEND
#include "later_rows.hpp"
#include "oracle.hpp"

#include <slicesort/random_rows.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace support;
using namespace std::string_literals;

namespace {

template <class T>
bool all_finite(std::vector<T> const& values) {
  for (T const& v : values)
    if (decode(v).kind != number_class::finite) return false;
  return true;
}
template <class T>
bool all_finite(linear_results<T> const& r) {
  return all_finite(r.y) && all_finite(r.dq) && all_finite(r.dk) && all_finite(r.dv) &&
         all_finite(r.dw);
}
any_feature make_feature_with_eps(std::size_t kind, double eps) {
  if (kind == feature_index::relu) return ss::feature::relu{eps};
  if (kind == feature_index::random_exp) return ss::feature::random_exp{eps};
  if (kind == feature_index::random_relu) return ss::feature::random_relu{eps};
  return make_feature(kind);
}

}  // namespace

// Row i of y and dq depends on keys 0 .. i only. Its bits must not change with later keys, even if
// these change the overall maximum. Changes start in the middle of a tile and at its edges.
TEST_CASE_TEMPLATE("earlier rows do not depend on later ones", T, float, double, bfloat16) {
  index_t const length = sizeof(T) == 4 ? 130 : 70;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (index_t first_changed : {index_t{1}, index_t{63}, index_t{64}, index_t{65}, length - 3}) {
      if (!full_suite() && (feature + static_cast<std::size_t>(first_changed)) % 2 == 0 &&
          feature != feature_index::random_exp)
        continue;
      auto const problem =
          normal_linear<T>({1, 2, length, length, 3, 4}, make_feature_with_eps(feature, 1e-3),
                           make_divisor(feature % 2, 131), true, 30 + feature);
      auto const changed = triple_rows_from(problem, first_changed);
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(problem.describe());
        CAPTURE(first_changed);
        CAPTURE(describe_exec(exec));
        CHECK(causality_error(problem, first_changed, run_linear(problem, exec),
                              run_linear(changed, exec)) == ""s);
      });
    }
}

// Uses the inputs of the golden values. The bound is from the specification.
TEST_CASE("4000 orthogonal random features approximate softmax") {
  linear_problem<double> problem;
  problem.size = {1, 1, 4, 4, 2, 2, 4000};
  problem.feature = ss::feature::random_exp{0};
  problem.divisor = ss::divisor::sum_plus{0};
  problem.q = {1, 0, 0, 1, 1, 1, -1, 2};
  problem.k = {1, 1, 0, 2, -1, 1, 2, 0};
  problem.v = {1, 0, 0, 1, 2, -1, 1, 3};
  problem.w = ss::random_rows{11, 4000, 2, ss::row_form::orthogonal_chi}.matrix().elements;
  problem.dy = problem.dq = problem.dk = problem.dv = std::vector<double>(8, 1);
  problem.dw = std::vector<double>(8000);
  ss::softmax_attention<> const softmax;
  std::vector<double> expected(8);
  ss::exec::host const host;
  extents4 const e{1, 1, 4, 2};
  guarded_workspace scratch(softmax.workspace_bytes<double>(host, e, e));
  softmax.forward(host, {{problem.q.data(), e}, {problem.k.data(), e}, {problem.v.data(), e}},
                  tensor4<double>(expected.data(), e), ss::no_saved, scratch.get());
  for_each_backend_untuned([&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const actual = run_linear(problem, exec).y;
    for (std::size_t i = 0; i < 8; ++i) CHECK(std::fabs(actual[i] - expected[i]) < 0.08);
  });
}

// Running maxima and non-negative features prevent overflow. q and k have magnitudes up to
// `largest`, with some small rows; v and dy have normal magnitudes.
TEST_CASE("large inputs give finite results and gradients") {
  struct extreme {
    std::size_t feature;
    double largest;
  };
  namespace index = feature_index;
  for (extreme const& range : {extreme{index::elu_plus_one, 1e8},
                               {index::relu, 1e8},
                               {index::cosine_reweighted, 1e8},
                               {index::random_exp, 1e15},
                               {index::random_exp, 30},
                               {index::random_fourier, 1e15}})
    for (std::size_t divisor : {divisor_index::sum_plus, divisor_index::at_least})
      for (bool causal : {false, true})
        for (double eps : {0.0, 1e-6}) {
          if (range.feature == feature_index::random_fourier && divisor == divisor_index::sum_plus)
            continue;  // the divisor may be near 0
          auto problem =
              normal_linear<float>({1, 2, 70, 70, 4, 3}, make_feature_with_eps(range.feature, eps),
                                   {}, causal, 70 + range.feature);
          problem.divisor = divisor == divisor_index::sum_plus
                                ? any_divisor(ss::divisor::sum_plus{1e-6})
                                : any_divisor(ss::divisor::at_least{1e-6});
          random_stream random(80);
          auto const grow = [&](std::vector<float>& tensor, extents4 e) {
            for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
              float& x = tensor[linear_size::at(e, b, h, n, c)];
              double const factors[] = {range.largest, 1, -range.largest, 1e-3 * range.largest};
              x = static_cast<float>(x / 6 * factors[n % 7 == 3 ? 1 : random.below(4)]);
            });
          };
          grow(problem.q, problem.size.q());
          grow(problem.k, problem.size.k());
          for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
            CAPTURE(problem.describe());
            CAPTURE(range.largest);
            CAPTURE(describe_exec(exec));
            auto const actual = run_linear(problem, exec);
            CHECK(all_finite(actual));
            CHECK(same_results(actual, run_linear(problem, ss::exec::host{})));
          });
        }
}

// All features are 0.
TEST_CASE("a divisor of 0 gives zeros") {
  for (bool causal : {false, true}) {
    auto problem = normal_linear<float>({1, 1, 5, 5, 2, 3}, ss::feature::relu{0},
                                        ss::divisor::sum_plus{0}, causal, 90);
    for (float& x : problem.k) x = -std::fabs(x);
    for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const actual = run_linear(problem, exec);
      CHECK(same_bits(actual.y, std::vector<float>(15)));
      CHECK(all_finite(actual));
    });
  }
}

// The reciprocal of the divisor would overflow, and products with it would be NaN.
TEST_CASE("a subnormal divisor") {
  for (bool causal : {false, true})
    for (float x : {1e-20f, 1e-21f, 3e-23f})
      for (any_divisor const& divisor :
           {any_divisor(ss::divisor::sum_plus{0}), any_divisor(ss::divisor::at_least{0})}) {
        auto problem =
            normal_linear<float>({1, 1, 2, 2, 1, 2}, ss::feature::relu{0}, divisor, causal, 95);
        problem.q = problem.k = {x, x};
        problem.v = {0, 2, 0, 1};
        for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
          CAPTURE(problem.describe());
          CAPTURE(x);
          CAPTURE(describe_exec(exec));
          CHECK(all_finite(run_linear(problem, exec)));
        });
      }
}

TEST_CASE_TEMPLATE("a query without keys gets zeros", T, float, bfloat16) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (std::size_t divisor = 0; divisor < divisor_kinds; ++divisor) {
      bool const causal = (feature + divisor) % 2 == 0;
      auto problem = normal_linear<T>({2, 1, 9, causal ? 9 : 4, 3, 2}, make_feature(feature),
                                      make_divisor(divisor, 0), causal, 120 + feature);
      problem.lengths = {0, 4};
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(problem.describe());
        CAPTURE(describe_exec(exec));
        auto const actual = run_linear(problem, exec);
        for (std::size_t i = 0; i < 18; ++i) CHECK(decode(actual.y[i]).value == 0);
        for (std::size_t i = 0; i < 27; ++i) CHECK(decode(actual.dq[i]).value == 0);
        CHECK(all_finite(actual.y));
        CHECK(std::any_of(actual.y.begin() + 18, actual.y.end(),
                          [](T const& y) { return decode(y).value != 0; }));
      });
    }
}

// A 16-bit sum of 600 ones would lose most of them.
TEST_CASE_TEMPLATE("sums of 16-bit types do not saturate", T, float16, bfloat16) {
  auto problem = normal_linear<T>({1, 1, 600, 600, 1, 1}, ss::feature::relu{}, ss::divisor::none{},
                                  false, 150);
  problem.q = problem.k = problem.v = problem.dy = std::vector<T>(600, from_double<T>(1));
  for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const actual = run_linear(problem, exec);
    for (auto const* list : {&actual.y, &actual.dq, &actual.dk, &actual.dv})
      for (T const& x : *list) CHECK(decode(x).value == decode(from_double<T>(600)).value);
  });
}

// -ffast-math lets the compiler assume that there is no NaN or infinity.
#if !defined(__FAST_MATH__)

TEST_CASE_TEMPLATE("a NaN in a query affects only its own row", T, float, bfloat16) {
  T const nan = from_bits<T>(format_of<T>().infinity() | (format_of<T>().fraction_mask() + 1) / 2);
  index_t const row = 67;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true})
      for (bool infinite : {false, true}) {
        auto const problem = normal_linear<T>({1, 2, 70, 70, 3, 4}, make_feature(feature),
                                              make_divisor(feature % 2, 71), causal, 170 + feature);
        auto spoiled = problem;
        T& element = spoiled.q[linear_size::at(problem.size.q(), 0, 1, row, 1)];
        element = infinite ? from_bits<T>(format_of<T>().infinity()) : nan;
        for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
          CAPTURE(problem.describe());
          CAPTURE(describe_exec(exec));
          auto const expected = run_linear(problem, exec), actual = run_linear(spoiled, exec);
          for (auto const& [first, last] : {std::pair<index_t, index_t>{0, row}, {row + 1, 70}}) {
            CHECK(same_bits(select_rows(expected.y, problem.size.y(), first, last),
                            select_rows(actual.y, problem.size.y(), first, last)));
            CHECK(same_bits(select_rows(expected.dq, problem.size.q(), first, last),
                            select_rows(actual.dq, problem.size.q(), first, last)));
          }
          auto const nan_row = select_rows(actual.y, problem.size.y(), row, row + 1);
          if (!infinite)  // in the second head, after the four values of the first head
            for (std::size_t c = 4; c < 8; ++c) CHECK(decode(nan_row[c]).kind == number_class::nan);
        });
      }
}

// A NaN in a key or value affects the rows that attend to it, but no earlier rows, even in the same
// tile.
TEST_CASE_TEMPLATE("a NaN in a key or value does not affect earlier rows", T, float, bfloat16) {
  T const nan = from_bits<T>(format_of<T>().infinity() | (format_of<T>().fraction_mask() + 1) / 2);
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (index_t row : {1, 13, 63, 64, 67})
      for (bool in_key : {false, true}) {
        if (!full_suite() && (static_cast<std::size_t>(row) + feature) % 2 == 0) continue;
        auto const problem = normal_linear<T>({1, 2, 70, 70, 3, 4}, make_feature(feature),
                                              make_divisor(feature % 2, 71), true, 230 + feature);
        auto spoiled = problem;
        (in_key ? spoiled.k[linear_size::at(problem.size.k(), 0, 1, row, 2)]
                : spoiled.v[linear_size::at(problem.size.v(), 0, 1, row, 2)]) = nan;
        for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
          CAPTURE(problem.describe());
          CAPTURE(row);
          CAPTURE(in_key);
          CAPTURE(describe_exec(exec));
          auto const expected = run_linear(problem, exec), actual = run_linear(spoiled, exec);
          CHECK(same_bits(select_rows(expected.y, problem.size.y(), 0, row),
                          select_rows(actual.y, problem.size.y(), 0, row)));
          CHECK(same_bits(select_rows(expected.dq, problem.size.q(), 0, row),
                          select_rows(actual.dq, problem.size.q(), 0, row)));
          CHECK(!same_bits(expected.y, actual.y));
        });
      }
}

// With NaNs of every payload and sign, and infinities, at any position, results have the same bits
// on every backend, and every NaN is the canonical one.
TEST_CASE_TEMPLATE("every backend returns the canonical NaN", T, float, double, float16, bfloat16) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      auto problem = normal_linear<T>({1, 2, 70, 70, 3, 4}, make_feature(feature),
                                      make_divisor(feature % 3), causal, 190 + feature);
      random_stream random(feature);
      for (auto* tensor : {&problem.q, &problem.k, &problem.v, &problem.dy})
        for (int i = 0; i < 3; ++i)
          (*tensor)[random.below(tensor->size())] = random_special<T>(random);
      auto const expected = run_linear(problem, ss::exec::host{1, ss::isa::portable});
      for (auto const* list : {&expected.y, &expected.dq, &expected.dk, &expected.dv, &expected.dw})
        for (T const& x : *list) CHECK(same_bits(x, with_canonical_nan(x)));
      for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(problem.describe());
        CAPTURE(describe_exec(exec));
        CHECK(same_results(run_linear(problem, exec), expected));
      });
    }
}

#endif
