// SPDX-License-Identifier: Apache-2.0
// Basic tests of pointwise_attention: golden values, and every mask, function, type and layout,
// within the error bounds of the long-double oracle.
#define SLICESORT_TEST_EVERY_BACKEND

#include "check.hpp"
#include "softmax_attention/problem.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

constexpr auto on_each_backend = [](std::uint64_t seed, auto const& f) {
  for_each_backend(seed, f);
};
constexpr auto on_each_backend_once = [](std::uint64_t seed, auto const& f) {
  for_each_backend_once(seed, f);
};

using doubles = std::vector<double>;

void check_close(doubles const& actual, doubles const& expected) {
  REQUIRE(actual.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(std::fabs(actual[i] - expected[i]) < 6e-11);  // the golden values have ten digits
}

// A score function with types: its results for scores of float and double.
template <class ForFloat, class ForDouble>
struct typed_function {
  ForFloat value(float score) const { return ForFloat(score); }
  ForDouble value(double score) const { return ForDouble(score); }
  float slope(float) const { return 1; }
  double slope(double) const { return 1; }
};
struct function_of_float {
  float value(float score) const { return score; }
  float slope(float) const { return 1; }
};
struct function_of_double {
  double value(double score) const { return score; }
  double slope(double) const { return 1; }
};
struct function_without_slope {
  double value(double score) const { return score; }
};
using ss::detail::has_valid_score_types;
static_assert(has_valid_score_types<ss::score_function::laplace>() &&
              has_valid_score_types<ss::score_function::squared_relu>() &&
              has_valid_score_types<custom_score_function>() &&
              has_valid_score_types<function_of_double>() &&
              has_valid_score_types<typed_function<float, double>>());
// A score of double would be rounded to float, or to an integer.
static_assert(!has_valid_score_types<function_of_float>() &&
              !has_valid_score_types<typed_function<float, float>>() &&
              !has_valid_score_types<typed_function<int, double>>() &&
              !has_valid_score_types<function_without_slope>());

}  // namespace

// Golden values of the specification, from numpy.
TEST_CASE("golden values") {
  attention_problem<double> p;
  p.size = {1, 1, 4, 4, 2, 2};
  p.q = {1, 0, 0, 1, 1, 1, -1, 2};
  p.k = {1, 1, 0, 2, -1, 1, 2, 0};
  p.v = {1, 0, 0, 1, 2, -1, 1, 3};
  p.dy = {1, 2, 0, 1, -1, 1, 2, 0};
  p.bias = {0.3, -0.2, 0.1, 0.4, 0.2, -0.1, 0};
  p.bias_layout.is_relative = p.dbias_layout.is_relative = true;
  p.dq = p.dk = p.dv = doubles(8);
  p.dbias = doubles(7);
  for (bool per_key : {false, true}) {
    p.per_key = per_key;
    p.scale = 0.25;
    for_each_backend(1, [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const laplace = run_pointwise(p, ss::score_function::laplace{}, exec);
      check_close(laplace.y, {0.6513866775, 0.7302906342, 0.4669574952, 0.5782404518, 0.8407401344,
                              1.6837899241, 1.6784224564, -0.0583953377});
      check_close(laplace.dq, {4.1267814571, 0.6274406097, 0.2687882571, 0.326313287, 1.8753953893,
                               -0.0532930991, -0.6148088699, 1.8494607591});
      check_close(laplace.dk, {-0.383939199, 1.0862533772, 0.4694949489, 0.608815066, -1.8303639473,
                               1.668058197, 2.585280484, 0.7481853632});
      check_close(laplace.dv, {0.9228741651, 1.0168345133, 0.9420952923, 1.1772683193, 1.2494624471,
                               0.3193665841, -0.2543076035, 0.954903303});
      check_close(laplace.dbias, {2.4220998066, -0.4991861043, 6.2916063635, 0.2064176579,
                                  2.4561031005, 0.0708059579, 7.5607983567});
      check_close(run_pointwise(p, ss::score_function::squared_relu{}, exec).y,
                  {0.6725, 0.79, 0.5275, 0.6075, 0.9, 1.67, 1.7475, -0.0825});
    });
  }
}

TEST_CASE_TEMPLATE("random problems within bounds", T, float, double, float16, bfloat16) {
  attention_error_ratios max_ratios;
  std::uint64_t seed = sizeof(T) * 100;
  attention_size const sizes[] = {
      {2, 2, 33, 33, 8, 8}, {1, 2, 40, 21, 5, 17}, {2, 1, 19, 70, 16, 3}, {1, 1, 64, 64, 33, 40}};
  for (mask_kind kind : all_mask_kinds)
    for (attention_size size : sizes) {
      auto p = random_attention<T>(size, ++seed, kind);
      p.per_key = seed % 3 == 0;
      if (has_every_mask<T> && seed % 5 == 0) p.sparse = random_sparse_mask(seed);
      CHECK(pointwise_errors(p, on_each_backend_once, {}, &max_ratios) == "");
    }
  MESSAGE(std::string(type_name<T>())
          << ": errors of y, state (none), dq, dk, dv and dbias take up " << max_ratios.describe()
          << " of their bounds");
}

// Several query heads share a head of k and v; biases and their gradients are relative, or shared
// by samples or heads.
TEST_CASE_TEMPLATE("grouped heads and shared biases", T, float, double, bfloat16) {
  std::uint64_t seed = sizeof(T) * 100 + 50;
  attention_size const sizes[] = {{2, 4, 33, 33, 8, 8, 2},
                                  {1, 6, 40, 21, 5, 17, 3},
                                  {2, 2, 19, 70, 70, 3, 2},
                                  {2, 3, 20, 24, 8, 9, 1}};
  for (unsigned bits = 0; bits < bias_layout_cases; bits += 3) {
    auto p = random_attention<T>(sizes[bits % 4], ++seed);
    p.shared_bias = false;
    p.per_key = seed % 4 == 0;
    CHECK(pointwise_errors(with_bias_layouts(p, bits, seed), on_each_backend_once) == "");
  }
}

TEST_CASE_TEMPLATE("every tuning", T, float, bfloat16) {
  auto p = random_attention<T>({1, 2, 70, 133, 24, 40}, 3, mask_kind::causal);
  p.requested = all_gradients;
  CHECK(pointwise_errors(p, on_each_backend) == "");
}

TEST_CASE_TEMPLATE("empty and tiny problems", T, float, float16) {
  std::uint64_t seed = 70;
  for (attention_size size : tiny_attention_sizes)
    for (bool has_bias : {false, true})
      for (ss::grad_mode mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
        auto p = normal_attention<T>(size, {}, ++seed, has_bias);
        p.mode = mode;
        p.per_key = seed % 2 == 0;
        CHECK(pointwise_errors(p, on_each_backend_once) == "");
      }
}

TEST_CASE_TEMPLATE("every memory layout", T, float, float16) {
  std::uint64_t seed = 400;
  for (int layout = 1; layout < memory_layout::count; ++layout)
    for (bool shares : {false, true}) {
      attention_size const size{2, 3, 18, 21, 8, 8};
      auto p = random_attention<T>(size, ++seed);
      if (shares) {
        p = normal_attention<T>(size, random_mask(static_cast<mask_kind>(layout), size, seed), seed,
                                true);
        share(p, layout % 2 == 0, layout % 2 == 1);
      }
      CHECK(pointwise_errors(p, on_each_backend_once, memory_layout{layout}) == "");
    }
}

// Padding of a tile has products of 0, where this function is infinite. A range that covers a tile
// needs no other mask.
TEST_CASE_TEMPLATE("padding adds nothing, whatever the function is", T, float, bfloat16) {
  for (bool wants_bias_gradient : {false, true}) {
    auto p = normal_attention<T>({2, 2, 70, 75, 8, 9}, {}, 9);
    p.lengths = {41, 75};
    p.query_lengths = {37, 70};
    p.requested = wants_bias_gradient ? all_gradients : all_gradients & ~wants_dbias;
    for_each_backend(4, [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const op = make_pointwise(p, range_mask{}, custom_score_function{true});
      auto const results = run_operator(op, p, exec);
      CHECK(results.wrong == "");
      for (auto const* tensor : {&results.y, &results.dq, &results.dk, &results.dv, &results.dbias})
        for (T const x : *tensor) CHECK_UNARY(decode(x).kind == number_class::finite);
    });
  }
}
