// SPDX-License-Identifier: Apache-2.0
// Compares merge_attention with its definition, and requires the same bits on every backend.
#define SLICESORT_TEST_EVERY_BACKEND
#include "problem.hpp"
#include "support/error_message.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using namespace support;

namespace {

constexpr merge_variant all_variants[] = {
    merge_variant::separate_outputs, merge_variant::over_part_0, merge_variant::y_over_part_0,
    merge_variant::state_over_part_0, merge_variant::not_saved};

template <class T>
bool have_same_bits(merge_results<T> const& a, merge_results<T> const& b) {
  return same_bits(a.y, b.y) && same_bits(a.state, b.state);
}
// Merges with every variant on every backend, and requires the bits of `expected`.
template <class T>
void check_every_variant(merge_problem<T> const& p, merge_results<T> const& expected) {
  CAPTURE(p.describe());
  for (merge_variant variant : all_variants)
    for_each_backend(p.backend_seed() + static_cast<std::uint64_t>(variant),
                     [&](any_exec const& exec) {
                       CAPTURE(describe_exec(exec));
                       CAPTURE(static_cast<int>(variant));
                       auto const actual = run_merge(p, exec, {}, variant);
                       CHECK(actual.error == "");
                       CHECK(same_bits(actual.y, expected.y));
                       if (variant != merge_variant::not_saved)
                         CHECK(same_bits(actual.state, expected.state));
                     });
}
template <class T>
merge_results<T> run_on_host(merge_problem<T> const& p) {
  return run_merge(p, ss::exec::host{1, ss::isa::portable});
}

// Returns a problem of two parts with one row per (m0, l0, m1, l1). y is 1 in part 0, 3 in part 1.
template <class T>
merge_problem<T> make_two_part_problem(std::vector<std::vector<double>> const& rows) {
  using A = ss::detail::accumulator_t<T>;
  auto const n = static_cast<index_t>(rows.size());
  merge_problem<T> p{{1, 1, n, 5}, {{}, {}}, {{}, {}}};
  for (auto const& row : rows)
    for (std::size_t part : {0u, 1u}) {
      p.state[part].push_back(static_cast<A>(row[2 * part]));
      p.state[part].push_back(static_cast<A>(row[2 * part + 1]));
      for (int c = 0; c < 5; ++c) p.y[part].push_back(from_double<T>(part == 0 ? 1 : 3));
    }
  return p;
}
template <class T>
bool is_nan(T const& x) {
  return decode(x).kind == number_class::nan;
}

// Value of a part that is NaN: the maximum or the sum of its state, or an element of y.
enum class nan_place { max, sum, max_and_sum, sum_with_infinite_max, y };

}  // namespace

// Golden values from the specification: keys 0 to 2, then keys [[1, -1], [0, 1]] with values [[2,
// 2], [-1, 0]].
TEST_CASE("golden values") {
  double const q[4][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 2}};
  std::vector<std::vector<std::vector<double>>> const k = {{{1, 1}, {0, 2}, {-1, 1}},
                                                           {{1, -1}, {0, 1}}},
                                                      v = {{{1, 0}, {0, 1}, {2, -1}},
                                                           {{2, 2}, {-1, 0}}};
  merge_problem<double> p{{1, 1, 4, 2}, {{}, {}}, {{}, {}}};
  for (std::size_t part : {0u, 1u})
    for (auto const& query : q) {
      std::vector<long double> scores;
      long double max_score = -1e9L, sum = 0, y[2] = {};
      for (auto const& key : k[part]) {
        scores.push_back((static_cast<long double>(query[0]) * key[0] + query[1] * key[1]) /
                         std::sqrt(2.0L));
        max_score = std::max(max_score, scores.back());
      }
      for (std::size_t j = 0; j < scores.size(); ++j) {
        long double const weight = std::exp(scores[j] - max_score);
        sum += weight;
        for (std::size_t c : {0u, 1u}) y[c] += weight * v[part][j][c];
      }
      p.state[part].push_back(static_cast<double>(max_score));
      p.state[part].push_back(static_cast<double>(sum));
      for (long double numerator : y) p.y[part].push_back(static_cast<double>(numerator / sum));
    }
  double const y[] = {0.9268904424, 0.696740447,  0.4716608191, 0.2872855022,
                      0.4965586459, 0.4172509761, 0.4707442655, 0.2796894603};
  double const state[] = {0.7071067812, 3.2292541172, 1.4142135624, 2.5990793243,
                          1.4142135624, 2.9793021603, 2.8284271247, 1.8631438739};
  for_each_backend(1, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    auto const actual = run_merge(p, exec);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(std::fabs(actual.y[i] - y[i]) < 6e-11);
      CHECK(std::fabs(actual.state[i] - state[i]) < 6e-11);
    }
    CHECK(check_merged(p, actual) == "");
  });
}

TEST_CASE_TEMPLATE("any number of parts matches the definition", T, float, double, float16,
                   bfloat16) {
  for (std::size_t parts = 1; parts <= 16; ++parts) {
    auto const p = random_parts<T>({2, 3, 7, 9}, parts, parts);
    auto const expected = run_on_host(p);
    CHECK(check_merged(p, expected) == "");
    check_every_variant(p, expected);
  }
}

TEST_CASE_TEMPLATE("any size matches the definition", T, float, double, float16, bfloat16) {
  extents4 const sizes[] = {{1, 1, 1, 1},   {1, 2, 200, 1},  {3, 1, 1, 64},  {1, 1, 33, 64},
                            {2, 2, 130, 8}, {1, 1, 3, 1000}, {1, 2, 9, 128}, {2, 1, 65, 17},
                            {5, 1, 2, 16},  {0, 2, 3, 4},    {2, 0, 3, 4},   {2, 3, 0, 4},
                            {2, 3, 4, 0}};
  for (extents4 e : sizes)
    for (std::size_t parts : {1u, 2u, 5u}) {
      auto const p = random_parts<T>(e, parts, 50 + parts);
      auto const expected = run_on_host(p);
      CHECK(check_merged(p, expected) == "");
      check_every_variant(p, expected);
    }
}

TEST_CASE_TEMPLATE("same bits in every memory layout", T, float, double, float16, bfloat16) {
  for (extents4 e : {extents4{2, 3, 19, 24}, extents4{2, 1, 40, 7}})
    for (std::size_t parts : {1u, 3u}) {
      auto const p = random_parts<T>(e, parts, 90 + parts);
      auto const expected = run_on_host(p);
      for (int layout = 1; layout < memory_layout::count; ++layout)
        for (merge_variant variant : all_variants)
          for_each_backend_once(
              p.backend_seed() + static_cast<std::uint64_t>(layout), [&](any_exec const& exec) {
                CAPTURE(describe_exec(exec));
                auto const actual = run_merge(p, exec, memory_layout{layout}, variant);
                CHECK(actual.error == "");
                CHECK(same_bits(actual.y, expected.y));
                if (variant != merge_variant::not_saved)
                  CHECK(same_bits(actual.state, expected.state));
              });
    }
}

TEST_CASE("parts shared by heads and samples") {
  auto const p = random_parts<float>({1, 1, 6, 8}, 2, 7);
  auto const expected = run_on_host(p);
  extents4 const e{2, 3, 6, 8}, state_extents{2, 3, 6, 2};
  for_each_backend_once(3, [&](any_exec const& exec) {
    std::vector<float> y(288), state(72);
    auto const shared = [](std::vector<float> const& data, extents4 repeated) {
      return tensor4<float const>(data.data(), repeated, {0, 0, repeated.channels, 1});
    };
    ss::merge_attention{}.forward(exec,
                                  {{shared(p.y[0], e), shared(p.state[0], state_extents)},
                                   {shared(p.y[1], e), shared(p.state[1], state_extents)}},
                                  tensor4<float>(y.data(), e),
                                  {tensor4<float>(state.data(), state_extents)});
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(same_bits(y[i], expected.y[i % 48]));
    for (std::size_t i = 0; i < state.size(); ++i)
      CHECK(same_bits(state[i], expected.state[i % 12]));
  });
}

TEST_CASE_TEMPLATE("bits do not depend on threads", T, float, bfloat16) {
  auto const p = random_parts<T>({2, 3, 300, 20}, 4, 11);
  auto const expected = run_on_host(p);
  for (unsigned threads = 1; threads <= 5; ++threads)
    CHECK(have_same_bits(run_merge(p, ss::exec::host{threads}), expected));
  for (auto schedule : {test_executor::schedule::backwards, test_executor::schedule::scattered}) {
    test_executor executor{schedule};
    CHECK(have_same_bits(run_merge(p, any_exec(executor, 5)), expected));
  }
}

TEST_CASE_TEMPLATE("a single part is copied bit for bit", T, float, double, float16, bfloat16) {
  using A = ss::detail::accumulator_t<T>;
  auto p = random_parts<T>({1, 2, 9, 13}, 1, 21, 1e4);
  for (std::size_t row = 0; row < p.rows(); ++row)
    p.state[0][2 * row] = 7, p.state[0][2 * row + 1] = static_cast<A>(row + 1);
#if !defined(__FAST_MATH__)  // -ffast-math flushes denormals and excludes infinity and -0
  p.y[0][3] = from_bits<T>(format_of<T>().sign());
  p.y[0][4] = from_bits<T>(1);
  p.y[0][5] = from_bits<T>(format_of<T>().infinity());
#endif
  check_every_variant(p, {p.y[0], p.state[0], {}});
}

TEST_CASE_TEMPLATE("parts without keys are ignored", T, float, double, float16, bfloat16) {
  using A = ss::detail::accumulator_t<T>;
  A const no_keys = minus_infinity<A>();
  auto p = make_two_part_problem<T>(
      {{0, 0, 2, 5}, {2, 5, 0, 0}, {0, 0, 0, 0}, {9, 4, -9e3, 4}, {1, 2, 1, 2}});
  // A part without keys has a maximum of -infinity, or a sum of 0.
  p.state[0][0] = no_keys;
  p.state[0][4] = p.state[1][4] = no_keys;
  for (std::size_t c = 0; c < 5; ++c) {
    p.y[0][c] = p.y[1][5 + c] = nan_value<T>();
    p.y[0][10 + c] = nan_value<T>(), p.y[1][10 + c] = from_bits<T>(format_of<T>().infinity());
    p.y[1][15 + c] = nan_value<T>();  // the weight of this part underflows to 0
  }
  merge_results<T> expected{{}, {2, 5, 2, 5, no_keys, 0, 9, 4, 1, 4}, {}};
  for (double y : {3.0, 1.0, 0.0, 1.0, 2.0})
    for (int c = 0; c < 5; ++c) expected.y.push_back(from_double<T>(y));
  check_every_variant(p, expected);
  // With a maximum of -infinity, the sum is ignored.
  p = make_two_part_problem<T>({{0, 3, 2, 5}, {0, 3, 0, 3}});
  p.state[0][0] = p.state[0][2] = p.state[1][2] = no_keys;
  expected = {{}, {2, 5, no_keys, 0}, {}};
  for (double y : {3.0, 0.0})
    for (int c = 0; c < 5; ++c) expected.y.push_back(from_double<T>(y));
  check_every_variant(p, expected);
}

TEST_CASE_TEMPLATE("huge maxima cause no NaN", T, float, double, float16, bfloat16) {
  using A = ss::detail::accumulator_t<T>;
  double const max_score = static_cast<double>(std::numeric_limits<A>::max());
  for (double magnitude : {1e30, max_score}) {
    auto const p = make_two_part_problem<T>({{magnitude, 2, magnitude, 6},
                                             {-magnitude, 3, magnitude, 1},
                                             {magnitude, 8, -magnitude, 3},
                                             {-magnitude, 1, -magnitude, 1},
                                             {magnitude, 1, 0, 4},
                                             {-magnitude, 2, 0, 5}});
    auto const max = static_cast<A>(magnitude);
    merge_results<T> expected{{}, {max, 8, max, 1, max, 8, -max, 2, max, 1, 0, 5}, {}};
    for (double y : {2.5, 3.0, 1.0, 2.0, 1.0, 3.0})
      for (int c = 0; c < 5; ++c) expected.y.push_back(from_double<T>(y));
    check_every_variant(p, expected);
  }
}

#if !defined(__FAST_MATH__)  // -ffast-math excludes -0 and NaN
TEST_CASE_TEMPLATE("of maxima 0 and -0, the first is saved", T, float, double, float16, bfloat16) {
  merge_results<T> expected{{}, {-0.0F, 4, 0, 4}, {}};
  for (int i = 0; i < 10; ++i) expected.y.push_back(from_double<T>(2));
  check_every_variant(make_two_part_problem<T>({{-0.0, 2, 0, 2}, {0, 2, -0.0, 2}}), expected);
}
TEST_CASE_TEMPLATE("a NaN affects only its own row", T, float, double, float16, bfloat16) {
  using A = ss::detail::accumulator_t<T>;
  auto const p = random_parts<T>({1, 2, 11, 6}, 3, 31);
  auto const expected = run_on_host(p);
  std::size_t const row = 9;
  for (nan_place place : {nan_place::max, nan_place::sum, nan_place::max_and_sum,
                          nan_place::sum_with_infinite_max, nan_place::y})
    for (std::size_t part = 0; part < 3; ++part) {
      auto with_nan = p;
      for (std::size_t i = 0; i < 3; ++i)  // all parts have keys in this row
        with_nan.state[i][2 * row] = 1, with_nan.state[i][2 * row + 1] = 2;
      A& m = with_nan.state[part][2 * row];
      A& l = with_nan.state[part][2 * row + 1];
      if (place == nan_place::max) m = nan_value<A>();
      if (place == nan_place::sum) l = nan_value<A>();
      if (place == nan_place::max_and_sum) m = l = nan_value<A>();
      if (place == nan_place::sum_with_infinite_max)
        m = from_bits<A>(format_of<A>().infinity()), l = nan_value<A>();
      if (place == nan_place::y) with_nan.y[part][row * 6 + 2] = nan_value<T>();
      for_each_backend(p.backend_seed() + part, [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        CAPTURE(static_cast<int>(place));
        auto const actual = run_merge(with_nan, exec);
        CHECK(actual.error == "");
        for (std::size_t i = 0; i < actual.y.size(); ++i)
          if (i / 6 != row) CHECK(same_bits(actual.y[i], expected.y[i]));
        for (std::size_t i = 0; i < actual.state.size(); ++i)
          if (i / 2 != row) CHECK(same_bits(actual.state[i], expected.state[i]));
        for (std::size_t c = 0; c < 6; ++c)
          CHECK(is_nan(actual.y[row * 6 + c]) == (place != nan_place::y || c == 2));
        // Backward uses the sum, and tests the maximum for -infinity.
        CHECK(is_nan(actual.state[2 * row + 1]) == (place != nan_place::y));
        CHECK(!same_bits(actual.state[2 * row], minus_infinity<A>()));
        CHECK(have_same_bits(actual, run_on_host(with_nan)));
      });
    }
}
#endif

// Negative tests of check_merged.
TEST_CASE_TEMPLATE("wrong results are detected", T, float, double, float16, bfloat16) {
  using A = ss::detail::accumulator_t<T>;
  auto const p = random_parts<T>({1, 2, 10, 6}, 3, 41);
  auto const correct = run_on_host(p);
  REQUIRE(check_merged(p, correct) == "");
  std::size_t row = 0;  // a row with keys in two parts
  while (p.state[0][2 * row + 1] == A(0) || p.state[1][2 * row + 1] == A(0)) ++row;
  auto const error_after = [&](auto const& damage) {
    auto damaged = correct;
    damage(damaged);
    return check_merged(p, damaged);
  };
  auto const flip_bits = [](auto x, std::uint64_t mask) {
    return from_bits<decltype(x)>(bits_of(x) ^ mask);
  };
  std::size_t const index = row * 6 + 4;
  CHECK(says(
      error_after([&](auto& r) { r.y[index] = flip_bits(r.y[index], sizeof(T) > 2 ? 1024 : 4); }),
      "y of row"));
  CHECK(says(error_after([&](auto& r) { r.state[2 * row] = flip_bits(r.state[2 * row], 1); }),
             "m of row"));
  CHECK(says(
      error_after([&](auto& r) { r.state[2 * row + 1] = flip_bits(r.state[2 * row + 1], 512); }),
      "l of row"));
  CHECK(says(error_after([&](auto& r) { std::swap(r.y[index], r.y[index + 1]); }), "y of row"));
  // Sums without the factors exp(m_p - m).
  auto equal_maxima = p;
  for (auto& state : equal_maxima.state)
    for (std::size_t i = 0; i < p.rows(); ++i)
      if (state[2 * i + 1] != A(0)) state[2 * i] = 1;
  CHECK(check_merged(p, run_on_host(equal_maxima)) != "");
  // Results with y in a different order.
  auto reversed = p;
  std::swap(reversed.y[0], reversed.y[1]);
  CHECK(check_merged(p, run_on_host(reversed)) != "");
}
