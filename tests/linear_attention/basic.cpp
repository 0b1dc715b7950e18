// SPDX-License-Identifier: Apache-2.0
// Basic tests of linear_attention: golden values, every feature map, divisor, direction and type,
// sizes around tiles, lengths, and layouts. Results stay within the bounds of the long-double
// oracle and have the same bits on every backend.
#define SLICESORT_TEST_EVERY_BACKEND
#include "oracle.hpp"
#include "support/error_message.hpp"

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

template <class T>
linear_results<T> run_on_host(linear_problem<T> const& problem) {
  return run_linear(problem, ss::exec::host{1, ss::isa::portable});
}
// Checks the host against the oracle, and every backend against the host.
template <class T>
void check_on_every_backend(linear_problem<T> const& problem,
                            long double* max_error_share = nullptr) {
  auto const expected = run_on_host(problem);
  CHECK(check_linear(problem, compute_expected(problem), expected, max_error_share) == "");
  CAPTURE(problem.describe());
  for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const actual = run_linear(problem, exec);
    CHECK(actual.wrong == "");
    CHECK(same_results(actual, expected));
  });
}

using doubles = std::vector<double>;
// The input of the golden values: one head of four rows with two channels.
linear_problem<double> golden_problem(any_feature feature, any_divisor divisor,
                                      bool causal = false) {
  linear_problem<double> problem;
  problem.size = {1, 1, 4, 4, 2, 2, 3};
  problem.feature = feature, problem.divisor = divisor, problem.causal = causal;
  problem.q = {1, 0, 0, 1, 1, 1, -1, 2};
  problem.k = {1, 1, 0, 2, -1, 1, 2, 0};
  problem.v = {1, 0, 0, 1, 2, -1, 1, 3};
  problem.dy = {1, 2, 0, 1, -1, 1, 2, 0};
  if (uses_w(feature)) problem.w = {1, 0.5, -0.5, 1, 0.25, -1};
  problem.dq = problem.dk = problem.dv = doubles(8);
  problem.dw.resize(problem.w.size());
  problem.title = "golden";
  return problem;
}
void check_close(doubles const& actual, doubles const& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(std::fabs(actual[i] - expected[i]) < 6e-11);  // the golden values have ten digits
}

}  // namespace

// Golden values from the specification.
TEST_CASE("golden values") {
  using namespace ss::feature;
  using namespace ss::divisor;
  struct golden_case {
    any_feature feature;
    any_divisor divisor;
    bool causal;
    doubles y;
  };
  golden_case const cases[] = {
      {elu_plus_one{},
       sum_plus{},
       false,
       {0.8908049606, 1.1219382, 0.8823258392, 0.7882785589, 0.8864048791, 0.9487913746,
        0.8772883629, 0.590050014}},
      {elu_plus_one{},
       sum_plus{},
       true,
       {0.9999998333, 0, 0.461538426, 0.538461497, 0.8425790935, 0.1574208583, 0.8772883629,
        0.590050014}},
      {relu{1e-3},
       sum_plus{0},
       false,
       {0.9996678853, 1.9960113025, 0.7504367979, 0.2518085229, 0.8573059361, 0.9997146119,
        0.7503433559, 0.251154584}},
      {cosine_reweighted{},
       at_least{},
       false,
       {1, 1.3006365079, 0.7203254026, 0.2796745974, 0.861244469, 1.0460420493, 0.8197815863,
        0.1802184137}},
      {cosine_reweighted{},
       at_least{},
       true,
       {1, 0, 0.3159772905, 0.6840227095, 0.8010876326, 0.1989123674, 0.8197815863, 0.1802184137}},
      {random_exp{},
       sum_plus{0},
       false,
       {0.9910283731, 0.846502372, 1.0451370469, 0.4207347255, 0.9941623041, 0.740803428,
        1.0924770201, 0.0925635702}},
      {random_exp{1e-3},
       sum_plus{0},
       true,
       {1, 0, 0.5349383697, 0.4650616303, 0.9924815241, 0.0075184759, 1.0913758744, 0.1017851036}},
      {random_relu{},
       sum_plus{0},
       false,
       {0.7841758027, 1.5921385393, 0.8401711912, 0.6407402492, 0.8002580191, 1.2277724242,
        0.8751040325, 0.1266770236}},
      {random_fourier{},
       sum_plus{1},
       false,
       {0.6486479665, 0.9347299425, 0.730934654, 0.3331352881, 0.7114731308, 0.6098982413,
        0.7486585612, 0.2011529365}}};
  for (golden_case const& golden : cases) {
    auto const problem = golden_problem(golden.feature, golden.divisor, golden.causal);
    CAPTURE(problem.describe());
    for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      check_close(run_linear(problem, exec).y, golden.y);
    });
  }
}

TEST_CASE("golden gradients") {
  auto const elu = golden_problem(ss::feature::elu_plus_one{}, ss::divisor::sum_plus{});
  auto cosine = golden_problem(ss::feature::cosine_reweighted{}, ss::divisor::at_least{});
  double const q_shift[] = {.1, .2, .3, -.4, -.2, .1, .2, .3},
               k_shift[] = {-.1, .3, .2, .1, .4, -.2, .1, -.3};
  for (std::size_t i = 0; i < 8; ++i) cosine.q[i] += q_shift[i], cosine.k[i] += k_shift[i];
  for_each_backend(1, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const elu_actual = run_linear(elu, exec), cosine_actual = run_linear(cosine, exec);
    check_close(elu_actual.dq, {0.242996979, -0.4859938069, 0.2062089764, -0.1031044706,
                                0.1217678603, -0.1217678592, 0.0041697904, -0.0013899079});
    check_close(elu_actual.dk, {-0.3116496496, -0.2194219473, -0.0592219396, -0.1703506113,
                                -0.2075124639, -0.2684932832, 0.6099807161, 0.5469741045});
    check_close(elu_actual.dv, {0.5223528528, 1.125350945, 0.6739644556, 1.0736061737, 0.4329413522,
                                0.6239469891, 0.37074125, 1.1770957163});
    check_close(cosine_actual.dq, {0.408575349, -2.2471644193, 0.9131919959, -0.4565959979,
                                   0.4628662264, -0.3366299828, 0, 0});
    check_close(cosine_actual.dk, {-0.9587269825, -0.3371471282, -0.2474053021, -0.2564396912, 0,
                                   -0.1460860569, 0.9552470516, 0});
    check_close(cosine_actual.dv, {0.56212839, 1.4297755612, 0.9335299096, 1.1978836045,
                                   0.4418621713, 0.36036798, 0.0624795291, 1.0119728543});
  });
}

TEST_CASE_TEMPLATE("every feature, divisor and direction", T, float, double, float16, bfloat16) {
  long double max_error_share = 0;
  std::uint64_t seed = sizeof(T) * 100;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (std::size_t divisor = 0; divisor < divisor_kinds; ++divisor)
      for (bool causal : {false, true})
        for (linear_size size : {linear_size{2, 2, 9, 13, 4, 3}, linear_size{1, 2, 70, 66, 5, 7}}) {
          if (causal) size.keys = size.queries;
          check_on_every_backend(random_linear<T>(size, feature, divisor, causal, ++seed),
                                 &max_error_share);
        }
  MESSAGE(std::string(type_name<T>())
          << ": errors take up to " << static_cast<double>(max_error_share) << " of their bounds");
}

// Sizes around tiles of 64 rows, SIMD vectors of channels and values, and 16 partial sums; empty
// shapes.
TEST_CASE_TEMPLATE("sizes", T, float, double, float16, bfloat16) {
  linear_size const sizes[] = {
      {1, 1, 1, 1, 1, 1, 1},      {2, 3, 1, 2, 2, 1, 17},   {1, 1, 63, 65, 3, 2, 5},
      {1, 1, 64, 64, 16, 16, 16}, {1, 1, 65, 1, 7, 5, 3},   {1, 1, 129, 129, 2, 3, 4},
      {1, 2, 2, 129, 9, 8, 7},    {1, 1, 3, 5, 40, 33, 35}, {1, 1, 20, 20, 17, 1, 33},
      {0, 2, 5, 6, 4, 3, 2},      {2, 0, 5, 6, 4, 3, 2},    {2, 2, 0, 6, 4, 3, 2},
      {2, 2, 5, 0, 4, 3, 2},      {2, 2, 5, 6, 0, 3, 2},    {2, 2, 5, 6, 4, 0, 2},
      {2, 2, 5, 6, 4, 3, 0},      {0, 0, 0, 0, 0, 0, 0}};
  std::uint64_t seed = 2000 + sizeof(T);
  for (linear_size size : sizes)
    for (std::size_t feature = 0; feature < feature_kinds; ++feature)
      for (bool causal : {false, true}) {
        ++seed;
        // Each case runs for every third type only.
        if (!full_suite() && (seed + sizeof(T) / 4) % 3 != 0) continue;
        if (causal) size.keys = size.queries = std::max(size.queries, size.keys);
        auto problem = random_linear<T>(size, feature, seed % 2, causal, seed);
        problem.lengths.clear(), problem.query_lengths.clear();
        check_on_every_backend(problem);
      }
}

TEST_CASE("more rows of w than a tile has columns, and a sample without its only key") {
  std::uint64_t seed = 5000;
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      index_t const keys = causal ? 5 : 6;
      auto wide = random_linear<float>({1, 1, 5, keys, 3, 2, 70}, feature, divisor_index::sum_plus,
                                       causal, ++seed);
      wide.lengths.clear(), wide.query_lengths.clear();
      check_on_every_backend(wide);
      auto single_row = random_linear<float>({2, 1, 1, 1, 3, 2, 4}, feature,
                                             divisor_index::sum_plus, causal, ++seed);
      single_row.lengths = {1, 0}, single_row.query_lengths.clear();
      check_on_every_backend(single_row);
    }
}

TEST_CASE_TEMPLATE("lengths of keys and of queries", T, float, double, float16, bfloat16) {
  // Lengths of keys and queries of both samples.
  std::vector<std::pair<index_t, index_t>> const lengths[] = {
      {{0, 7}, {70, 0}}, {{70, 70}, {70, 70}}, {{64, 65}, {65, 64}}, {{1, 70}, {69, 1}}};
  std::uint64_t seed = 3000 + sizeof(T);
  for (auto const& samples : lengths)
    for (std::size_t feature = 0; feature < feature_kinds; ++feature)
      for (bool causal : {false, true}) {
        if (!full_suite() && (++seed + sizeof(T) / 4) % 2 != 0) continue;
        auto problem =
            random_linear<T>({2, 1, 70, 70, 4, 3}, feature, seed % divisor_kinds, causal, seed);
        problem.lengths = {samples[0].first, samples[1].first};
        problem.query_lengths = {samples[0].second, samples[1].second};
        check_on_every_backend(problem);
      }
}

// Padding rows hold NaN, which would appear in the results if it were read.
TEST_CASE_TEMPLATE("rows past a length are not read", T, float, bfloat16) {
  T const nan = from_bits<T>(format_of<T>().infinity() | (format_of<T>().fraction_mask() + 1) / 2);
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      auto problem = random_linear<T>({2, 1, 9, 9, 3, 4}, feature, divisor_index::sum_plus, causal,
                                      3500 + feature);
      problem.lengths = {5, 0}, problem.query_lengths = {0, 6};
      problem.gradients = linear_all_gradients;
      auto const expected = run_on_host(problem);
      auto const fill_padding_with_nan = [&](std::vector<T>& tensor, extents4 e,
                                             std::vector<index_t> const& valid) {
        for_each_position(e, [&](index_t b, index_t h, index_t n, index_t c) {
          if (n >= valid[static_cast<std::size_t>(b)]) tensor[linear_size::at(e, b, h, n, c)] = nan;
        });
      };
      fill_padding_with_nan(problem.q, problem.size.q(), problem.query_lengths);
      fill_padding_with_nan(problem.dy, problem.size.y(), problem.query_lengths);
      fill_padding_with_nan(problem.k, problem.size.k(), problem.lengths);
      fill_padding_with_nan(problem.v, problem.size.v(), problem.lengths);
      for_each_backend(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        CAPTURE(problem.describe());
        CHECK(same_results(run_linear(problem, exec), expected));
      });
    }
}

// At 0, derivatives of feature maps may jump, and a row cannot be normalized: random_fourier
// multiplies it by 0, even without a floor.
TEST_CASE_TEMPLATE("rows of zeros", T, float, double, float16, bfloat16) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true})
      for (double floor : {0.0, 1e-3}) {
        auto problem =
            normal_linear<T>({1, 2, 9, 9, 3, 4}, make_feature(feature),
                             make_divisor(divisor_index::sum_plus, 10), causal, 3700 + feature);
        if (feature == feature_index::random_fourier)
          problem.feature = ss::feature::random_fourier{floor};
        for (auto* tensor : {&problem.q, &problem.k})
          for (std::size_t i : {0u, 1u, 2u, 12u, 13u, 14u, 16u, 30u}) (*tensor)[i] = T{};
        check_on_every_backend(problem);
      }
}

// random_fourier divides by |x|. Here |x|^2 is outside of the accumulator's range.
TEST_CASE_TEMPLATE("rows whose squares overflow or vanish", T, float, double, bfloat16) {
  constexpr int max_exponent = sizeof(T) == sizeof(double) ? 900 : 110;
  for (int exponent : {max_exponent, max_exponent * 2 / 3, -max_exponent * 2 / 3, -max_exponent})
    for (double floor : {0.0, 1e-3}) {
      auto problem =
          normal_linear<T>({1, 2, 9, 9, 5, 4}, ss::feature::random_fourier{floor},
                           make_divisor(divisor_index::none, 10), exponent % 4 == 0, 3800);
      for (auto* tensor : {&problem.q, &problem.k})
        for (std::size_t i = 0; i < 40; ++i)
          (*tensor)[i] =
              from_double<T>(std::ldexp(static_cast<double>(decode((*tensor)[i]).value), exponent));
      check_on_every_backend(problem);
    }
}

TEST_CASE_TEMPLATE("every memory layout", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 4000;
  for (std::size_t feature : {feature_index::elu_plus_one, feature_index::cosine_reweighted,
                              feature_index::random_exp, feature_index::random_fourier})
    for (int layout = 1; layout < memory_layout::count; ++layout) {
      bool const causal = (++seed + feature) % 2 == 0;
      auto const problem =
          random_linear<T>({2, 2, 18, causal ? 18 : 21, 5, 9}, feature, seed % 3, causal, seed);
      auto const expected = run_on_host(problem);
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(problem.describe());
        CAPTURE(describe_exec(exec));
        auto const actual = run_linear(problem, exec, memory_layout{layout});
        CHECK(actual.wrong == "");
        CHECK(same_results(actual, expected));
      });
    }
}

// An error of one percent must be detected in every result.
TEST_CASE("the oracle rejects wrong results") {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature) {
    auto const problem =
        normal_linear<float>({1, 2, 9, 9, 4, 3}, make_feature(feature),
                             make_divisor(divisor_index::sum_plus, 20), true, 60 + feature);
    auto const expected = compute_expected(problem);
    auto const actual = run_on_host(problem);
    REQUIRE(check_linear(problem, expected, actual) == "");
    auto const error_in = [&](auto result) {
      auto damaged = actual;
      std::vector<float>& tensor = damaged.*result;
      auto const largest = std::max_element(tensor.begin(), tensor.end());
      if (largest != tensor.end()) *largest *= 1.01f;
      return check_linear(problem, expected, damaged);
    };
    using results = linear_results<float>;
    CHECK(says(error_in(&results::y), "y["));
    CHECK(says(error_in(&results::dq), "dq["));
    CHECK(says(error_in(&results::dk), "dk["));
    CHECK(says(error_in(&results::dv), "dv["));
    if (uses_w(problem.feature)) CHECK(says(error_in(&results::dw), "dw["));
  }
}
