// SPDX-License-Identifier: Apache-2.0
// linear_attention with products::native: 16-bit types on tensor cores, as TF32, within the bounds
// of the oracle; all else as with products::exact, bit for bit.
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

// Around tiles of 64 rows, 64 columns and 32 of what is summed over, and pieces of four.
constexpr linear_size sizes[] = {
    {2, 2, 7, 7, 5, 3, 9}, {1, 1, 65, 65, 68, 12, 40}, {1, 1, 130, 130, 12, 68, 36}};

// f(problem) for every size, feature and direction, with a divisor and more that a number decides.
template <class T, class F>
void for_each_problem(std::uint64_t number, F const& f) {
  for (linear_size size : sizes)
    for (std::size_t feature = 0; feature < feature_kinds; ++feature)
      for (bool causal : {false, true}) {
        ++number;
        if (!full_suite() && size.queries > 100 && (feature % 2 == 0) == causal) continue;
        size.keys = causal ? size.queries : size.queries + 5;
        auto p = any_linear<T>(size, feature, number % divisor_kinds, causal, number);
        p.multiply = ss::products::native;
        f(p);
      }
}
template <class T>
linear_problem<T> exact(linear_problem<T> p) {
  p.multiply = ss::products::exact;
  return p;
}

}  // namespace

TEST_CASE_TEMPLATE("within the bounds of the oracle", T, float16, bfloat16) {
  for_each_problem<T>(40, [](linear_problem<T> const& p) {
    auto const want = answer_of(p);
    for_each_grid(p.number(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(check_linear(p, want, run_linear(p, exec)) == "");
    });
  });
}

// Operands that are rounded show in a result that is rounded at the same place.
TEST_CASE("they are not the exact ones") {
  auto p = normal_linear<float16>({1, 1, 70, 70, 40, 40}, ss::feature::elu_plus_one{},
                                  ss::divisor::sum_plus{}, true, 9);
  p.multiply = ss::products::native;
  for_each_grid(p.number(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const one = run_linear(p, exec), two = run_linear(exact(p), exec);
    CHECK(!same_bits(one.y, two.y));
    CHECK(!same_bits(one.dv, two.dv));
    CHECK(!same_bits(one.dk, two.dk));
    CHECK(!same_bits(one.dq, two.dq));
  });
}

TEST_CASE_TEMPLATE("other types have the bits of exact products", T, float, double) {
  for_each_problem<T>(140, [](linear_problem<T> const& p) {
    if (p.size.queries > 100) return;
    CAPTURE(p.describe());
    for_each_grid(p.number(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(same_results(run_linear(p, exec), run_linear(exact(p), exec)));
    });
  });
}

TEST_CASE_TEMPLATE("so has the host", T, float, float16, bfloat16) {
  if (!testing(backend_kind::host)) return;
  for_each_problem<T>(240, [](linear_problem<T> const& p) {
    if (p.size.queries > 100) return;
    CAPTURE(p.describe());
    ss::exec::host const exec{2};
    CHECK(same_results(run_linear(p, exec), run_linear(exact(p), exec)));
  });
}

TEST_CASE_TEMPLATE("rows that lie in fours or not, and a head alone", T, float16, bfloat16) {
  for_each_problem<T>(340, [](linear_problem<T> p) {
    if (p.size.queries > 100) return;
    CAPTURE(p.describe());
    for_each_grid(p.number(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const want = run_linear(p, exec);
      CHECK(same_results(run_linear(p, exec), want));
      CHECK(same_results(run_linear(p, exec, memory_layout{1}), want));
    });
  });
}

// Bit for bit, where a mixed tile multiplies later keys by 0.
TEST_CASE_TEMPLATE("rows of the past do not know the future", T, float16, bfloat16) {
  index_t const length = 70;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (index_t from : {index_t{33}, index_t{64}, index_t{67}}) {
      auto p = normal_linear<T>({1, 2, length, length, 12, 8}, feature_number(feature),
                                ss::divisor::sum_plus{80}, true, 60 + feature);
      p.multiply = ss::products::native;
      auto const changed = with_threefold_rows(p, from);
      for_each_grid(p.number(), [&](any_exec const& exec) {
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        CHECK(only_later_rows_change(p, from, run_linear(p, exec), run_linear(changed, exec)) ==
              ""s);
      });
    }
}
