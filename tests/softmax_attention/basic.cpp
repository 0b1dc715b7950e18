// SPDX-License-Identifier: Apache-2.0
// Basic tests of softmax_attention: hand-computed values, and every mask, type and layout with both
// algorithms, within the error bounds of the long-double oracle.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

// Prints errors relative to their bounds.
template <class T>
void report(attention_error_ratios const& max_ratios) {
  MESSAGE(std::string(type_name<T>()) << ": errors of y, state, dq, dk, dv and dbias take up "
                                      << max_ratios.describe() << " of their bounds");
}

}  // namespace

// One query and three keys. The bias gives scores 0, log 2, log 5, so the weights are 1/8, 2/8,
// 5/8.
TEST_CASE_TEMPLATE("hand-computed values", T, float, double, float16, bfloat16) {
  auto p = normal_attention<T>({1, 1, 1, 3, 1, 1}, {}, 1, true);
  p.q = elements_of<T>({0});
  p.k = elements_of<T>({1, -2, 4});
  p.v = elements_of<T>({8, 16, -8});
  p.bias = elements_of<T>({0, 0.6931471805599453, 1.6094379124341003});
  p.dy = elements_of<T>({2});
  p.scale = 3;
  double const rounding_unit = sizeof(T) == 8 ? 1e-15 : sizeof(T) == 4 ? 1e-6 : 0.05;
  for_each_backend(1, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const check = [&](auto algorithm) {
      auto const r = run_attention(p, exec, algorithm);
      auto const check_close = [&](std::vector<T> const& actual,
                                   std::vector<double> const& expected) {
        REQUIRE(actual.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
          CHECK(std::fabs(static_cast<double>(decode(actual[i]).value) - expected[i]) <=
                20 * rounding_unit);
      };
      check_close(r.y, {0});                   // (8 + 2 * 16 - 5 * 8) / 8
      check_close(r.dv, {0.25, 0.5, 1.25});    // p dy
      check_close(r.dbias, {2, 8, -10});       // p (dy v - dy y) = p dy v
      check_close(r.dq, {3 * (2 - 16 - 40)});  // scale sum ds k
      check_close(r.dk, {0, 0, 0});            // q is 0
      CHECK(r.wrong == "");
    };
    check(ss::streaming{});
    check(ss::materialized<>{});
  });
}

TEST_CASE_TEMPLATE("every mask", T, float, double, float16, bfloat16) {
  attention_error_ratios max_ratios;
  std::uint64_t seed = sizeof(T) * 100;
  attention_size const sizes[] = {
      {2, 2, 33, 33, 8, 8}, {1, 2, 40, 21, 5, 17}, {2, 1, 19, 70, 16, 3}, {1, 1, 64, 64, 33, 40}};
  for (mask_kind kind : all_mask_kinds)
    for (attention_size size : sizes) {
      solved_attention<T> const solved(random_attention<T>(size, ++seed, kind));
      for_each_backend(solved.problem.backend_seed(), [&](any_exec const& exec) {
        CHECK(check_attention(solved, exec, memory_layout{}, &max_ratios) == "");
      });
    }
  report<T>(max_ratios);
}

// Several query heads share a head of k and v: every mask, backend and kind of bias.
TEST_CASE_TEMPLATE("grouped heads", T, float, double, float16, bfloat16) {
  std::uint64_t seed = sizeof(T) * 100 + 50;
  attention_size const sizes[] = {{2, 4, 33, 33, 8, 8, 2},
                                  {1, 6, 40, 21, 5, 17, 3},
                                  {2, 2, 19, 70, 70, 3, 2},
                                  {1, 3, 64, 64, 33, 40, 3}};
  for (mask_kind kind : all_mask_kinds)
    for (attention_size size : sizes) {
      auto p = random_attention<T>(size, ++seed, kind);
      if (has_every_mask<T> && seed % 5 == 0) p.sparse = random_sparse_mask(seed);
      if (seed % 4 == 0) p.dropout = {0.3, seed};
      if (seed % 3 == 0) {
        p.shared_bias = false;
        p = with_bias_layouts(p, static_cast<unsigned>(seed * 7) % bias_layout_cases, seed);
      }
      solved_attention<T> const solved(p);
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CHECK(check_attention(solved, exec, memory_layout{static_cast<int>(seed % 3)}) == "");
      });
    }
}

// Visible keys have equal weights.
TEST_CASE_TEMPLATE("a scale of 0", T, float, float16) {
  for (mask_kind kind : all_mask_kinds) {
    auto const seed = static_cast<std::uint64_t>(kind) + 20;
    attention_size const size{1, 2, 33, 40, 8, 8};
    auto p = normal_attention<T>(size, random_mask(kind, size, seed), seed,
                                 static_cast<int>(kind) % 2 == 1);
    p.scale = 0;
    solved_attention<T> const solved(p);
    for_each_backend_once(solved.problem.backend_seed(),
                          [&](auto const& exec) { CHECK(check_attention(solved, exec) == ""); });
  }
}

TEST_CASE_TEMPLATE("empty and tiny problems", T, float, float16) {
  std::uint64_t seed = 70;
  for (attention_size size : tiny_attention_sizes)
    for (bool has_bias : {false, true})
      for (ss::grad_mode mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
        auto p = normal_attention<T>(size, {}, ++seed, has_bias);
        p.mode = mode;
        solved_attention<T> const solved(p);
        for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
          CHECK(check_attention(solved, exec) == "");
        });
      }
}

TEST_CASE_TEMPLATE("every memory layout", T, float, float16) {
  std::uint64_t seed = 400;
  for (attention_size size :
       {attention_size{2, 3, 18, 21, 8, 8}, attention_size{1, 2, 33, 34, 5, 17}})
    for (int layout = 1; layout < memory_layout::count; ++layout)
      for (bool shares : {false, true}) {
        auto p = random_attention<T>(size, ++seed);
        if (shares) {
          p = normal_attention<T>(size, random_mask(static_cast<mask_kind>(layout), size, seed),
                                  seed, true);
          share(p, layout % 2 == 0, layout % 2 == 1);
        }
        solved_attention<T> const solved(p);
        for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
          CHECK(check_attention(solved, exec, memory_layout{layout}) == "");
        });
      }
}
