// SPDX-License-Identifier: Apache-2.0
// linear_attention with products::native. 16-bit types use tensor cores with TF32 operands, within
// the oracle's bounds. Other types, and the host, have the same bits as products::exact.
#define SLICESORT_TEST_EVERY_BACKEND
#include "later_rows.hpp"
#include "oracle.hpp"

#include <slicesort/policies/products.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

using namespace support;
using namespace std::string_literals;

namespace {

// Sizes around tiles of 64 rows and 64 columns, slices of 32, and pieces of four.
constexpr linear_size sizes[] = {
    {2, 2, 7, 7, 5, 3, 9}, {1, 1, 65, 65, 68, 12, 40}, {1, 1, 130, 130, 12, 68, 36}};

// Calls f(problem) for every size, feature map and direction. Other parameters depend on the seed.
template <class T, class F>
void for_each_problem(std::uint64_t seed, F const& f) {
  for (linear_size size : sizes)
    for (std::size_t feature = 0; feature < feature_kinds; ++feature)
      for (bool causal : {false, true}) {
        ++seed;
        if (!full_suite() && size.queries > 100 && (feature % 2 == 0) == causal) continue;
        size.keys = causal ? size.queries : size.queries + 5;
        auto problem = random_linear<T>(size, feature, seed % divisor_kinds, causal, seed);
        problem.multiply = ss::products::native;
        f(problem);
      }
}
template <class T>
linear_problem<T> with_exact_products(linear_problem<T> problem) {
  problem.multiply = ss::products::exact;
  return problem;
}

}  // namespace

TEST_CASE_TEMPLATE("results are within the oracle's bounds", T, float16, bfloat16) {
  for_each_problem<T>(40, [](linear_problem<T> const& problem) {
    auto const expected = compute_expected(problem);
    for_each_grid(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(check_linear(problem, expected, run_linear(problem, exec)) == "");
    });
  });
}

// Rounding the operands must change results.
TEST_CASE_TEMPLATE("results differ from those of exact products", T, float16) {
  auto problem = normal_linear<T>({1, 1, 70, 70, 40, 40}, ss::feature::elu_plus_one{},
                                  ss::divisor::sum_plus{}, true, 9);
  problem.multiply = ss::products::native;
  for_each_grid(problem.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const native = run_linear(problem, exec),
               exact_results = run_linear(with_exact_products(problem), exec);
    CHECK(!same_bits(native.y, exact_results.y));
    CHECK(!same_bits(native.dv, exact_results.dv));
    CHECK(!same_bits(native.dk, exact_results.dk));
    CHECK(!same_bits(native.dq, exact_results.dq));
  });
}

TEST_CASE_TEMPLATE("other types have the same bits as exact products", T, float, double) {
  for_each_problem<T>(140, [](linear_problem<T> const& problem) {
    if (problem.size.queries > 100) return;
    CAPTURE(problem.describe());
    for_each_grid(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(
          same_results(run_linear(problem, exec), run_linear(with_exact_products(problem), exec)));
    });
  });
}

TEST_CASE_TEMPLATE("the host has the same bits as exact products" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, float16, bfloat16) {
  for_each_problem<T>(240, [](linear_problem<T> const& problem) {
    if (problem.size.queries > 100) return;
    CAPTURE(problem.describe());
    ss::exec::host const exec{2};
    CHECK(same_results(run_linear(problem, exec), run_linear(with_exact_products(problem), exec)));
  });
}

TEST_CASE_TEMPLATE("aligned and unaligned rows", T, float16, bfloat16) {
  for_each_problem<T>(340, [](linear_problem<T> problem) {
    if (problem.size.queries > 100) return;
    CAPTURE(problem.describe());
    for_each_grid(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const expected = run_linear(problem, exec);
      CHECK(same_results(run_linear(problem, exec), expected));
      CHECK(same_results(run_linear(problem, exec, memory_layout{1}), expected));
    });
  });
}

// Must hold bit for bit, although a tile on the diagonal multiplies later keys by 0.
TEST_CASE_TEMPLATE("earlier rows do not depend on later ones", T, float16, bfloat16) {
  index_t const length = 70;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (index_t first_changed : {index_t{33}, index_t{64}, index_t{67}}) {
      auto problem = normal_linear<T>({1, 2, length, length, 12, 8}, make_feature(feature),
                                      ss::divisor::sum_plus{80}, true, 60 + feature);
      problem.multiply = ss::products::native;
      auto const changed = triple_rows_from(problem, first_changed);
      for_each_grid(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(problem.describe());
        CAPTURE(describe_exec(exec));
        CHECK(causality_error(problem, first_changed, run_linear(problem, exec),
                              run_linear(changed, exec)) == ""s);
      });
    }
}
