// SPDX-License-Identifier: Apache-2.0
// softmax_attention on special values: scores of +-1e30 and their ties, biases of -infinity,
// queries without visible keys, denormals; and rows past a length, which are not read.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace support;

namespace {

// Products of two of these values are near 1e30, except in float16, whose range is smaller.
template <class T>
double huge_value() {
  return format_of<T>().exponent_bits == 5 ? 32768 : 0x1p50;
}
template <class T>
bool has_nan(std::vector<T> const& values) {
  for (T const& v : values)
    if (decode(v).kind == number_class::nan) return true;
  return false;
}
template <class T>
std::vector<double> to_doubles(std::vector<T> const& values) {
  std::vector<double> list;
  for (T const& v : values) list.push_back(static_cast<double>(decode(v).value));
  return list;
}

template <class F>
void for_each_backend_and_algorithm(std::uint64_t seed, F const& f) {
  for_each_backend(seed, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    f(exec, ss::streaming{});
    f(exec, ss::materialized<>{});
  });
}

// Returns a problem with one head, one channel and scale 1.
template <class T>
attention_problem<T> single_channel_problem(std::vector<double> const& q,
                                            std::vector<double> const& k,
                                            std::vector<double> const& v,
                                            std::vector<double> const& bias = {}) {
  auto const n = static_cast<index_t>(q.size()), m = static_cast<index_t>(k.size());
  auto p = normal_attention<T>({1, 1, n, m, 1, 1}, {}, 1);
  p.q = elements_of<T>(q);
  p.k = elements_of<T>(k);
  p.v = elements_of<T>(v);
  p.bias = elements_of<T>(bias);
  for (T& dy : p.dy) dy = from_double<T>(1);
  p.scale = 1;
  return p;
}

}  // namespace

// The largest accepted scale does not overflow in kernels.
TEST_CASE_TEMPLATE("the largest scales", T, float, double, float16, bfloat16) {
  double const largest = sizeof(T) == sizeof(double) ? 1e300 : 1e38;
  for (double scale : {largest, -largest, 1e-300})
    for (double q : {0.0, format_of<T>().exponent_bits == 5 ? 0x1p-14 : 1e-30}) {
      auto p = single_channel_problem<T>({q}, {1, 1}, {1, 3});
      p.scale = scale;
      for_each_backend_and_algorithm(7, [&](any_exec const& exec, auto algorithm) {
        auto const r = run_attention(p, exec, algorithm);
        CHECK(to_doubles(r.y) == std::vector<double>{2});
        CHECK(to_doubles(r.dv) == std::vector<double>{0.5, 0.5});
      });
    }
}

TEST_CASE_TEMPLATE("equal huge scores have equal weights", T, float, double, float16, bfloat16) {
  double const huge = huge_value<T>();
  for (double sign : {1.0, -1.0}) {
    // Scores are huge^2, -huge^2, 0, huge^2.
    auto const p = single_channel_problem<T>(
        {sign * huge}, {sign * huge, -sign * huge, 0, sign * huge}, {2, 100, 50, 6});
    for_each_backend_and_algorithm(3, [&](any_exec const& exec, auto algorithm) {
      auto const r = run_attention(p, exec, algorithm);
      CHECK(to_doubles(r.y) == std::vector<double>{4});
      CHECK(to_doubles(r.dv) == std::vector<double>{0.5, 0, 0, 0.5});
      CHECK(to_doubles(r.dbias) == std::vector<double>{-1, 0, 0, 1});
      CHECK(to_doubles(r.dk) == std::vector<double>{-sign * huge, 0, 0, sign * huge});
      CHECK(to_doubles(r.dq) == std::vector<double>{0});
      if constexpr (std::is_same_v<decltype(algorithm), ss::streaming>)
        CHECK(to_doubles(r.state) == std::vector<double>{huge * huge, 2});
      else
        CHECK(to_doubles(r.state) == std::vector<double>{0.5, 0, 0, 0.5});
    });
  }
}

// The largest score is in a late or early tile of keys, or repeated. All other weights are 0.
TEST_CASE_TEMPLATE("huge differences", T, float, double, float16, bfloat16) {
  double const huge = huge_value<T>();
  std::size_t const n = 200;
  for (std::size_t max_key : {0u, 7u, 63u, 64u, 130u, 199u}) {
    std::vector<double> k(n, -1), v(n, 3);
    for (std::size_t j = 0; j < n; j += 5) k[j] = -huge;
    k[max_key] = huge, v[max_key] = -7;
    auto const p = single_channel_problem<T>({huge, 1 / huge}, k, v);
    for_each_backend_once(max_key, [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const check = [&](auto algorithm) {
        auto const r = run_attention(p, exec, algorithm);
        CHECK(to_doubles(r.y)[0] == -7);
        CHECK(to_doubles(r.dbias)[max_key] == 0);
        CHECK((!has_nan(r.y) && !has_nan(r.dq) && !has_nan(r.dk) && !has_nan(r.dv)));
        CHECK(!has_nan(r.state));
        CHECK(to_doubles(r.dv)[max_key] >= 1);
      };
      check(ss::streaming{});
      check(ss::materialized<>{});
    });
  }
}

TEST_CASE_TEMPLATE("equal scores of minimal or maximal magnitude give the mean", T, float, double,
                   float16, bfloat16) {
  double const max_finite =
      static_cast<double>(decode_bits<T>(format_of<T>().infinity() - 1).value);
  for (double bias : {max_finite, -max_finite, max_finite / 2, -max_finite / 3}) {
    auto const p =
        single_channel_problem<T>({1, 0}, {0, 0, 0, 0}, {1, 2, 3, 6}, std::vector<double>(8, bias));
    for_each_backend_and_algorithm(5, [&](any_exec const& exec, auto algorithm) {
      auto const r = run_attention(p, exec, algorithm);
      CHECK(to_doubles(r.y) == std::vector<double>{3, 3});
      CHECK(to_doubles(r.dv) == std::vector<double>{0.5, 0.5, 0.5, 0.5});
      CHECK(to_doubles(r.dbias) == std::vector<double>{-0.5, -0.25, 0, 0.75, -0.5, -0.25, 0, 0.75});
    });
  }
  // Smallest and largest numbers of the format.
  auto const p =
      single_channel_problem<T>({0}, {0, 0, 0}, {1, 2, 6}, {-max_finite, max_finite, -max_finite});
  for_each_backend_and_algorithm(6, [&](any_exec const& exec, auto algorithm) {
    auto const r = run_attention(p, exec, algorithm);
    CHECK(to_doubles(r.y) == std::vector<double>{2});
    CHECK(to_doubles(r.dbias) == std::vector<double>{0, 0, 0});
  });
}

TEST_CASE_TEMPLATE("a bias of -infinity removes a key", T, float, double, float16, bfloat16) {
  attention_size const size{1, 2, 37, 70, 5, 6};
  for (mask_kind kind : {mask_kind::full, mask_kind::causal, mask_kind::scattered})
    for (ss::grad_mode mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
      auto p = normal_attention<T>(size, random_mask(kind, size, 3), 20, true);
      p.mode = mode;
      random_stream random(4);
      for (T& bias : p.bias)
        if (random.below(3) == 0) bias = minus_infinity<T>();
      // -infinity for all keys of a few queries, for all but one, and for a whole first tile.
      for (index_t i : {0, 5, 20, 36})
        for (index_t j = 0; j < 70; ++j)
          p.bias[attention_size::offset_of(size.pairs(), 0, 1, i, j)] = minus_infinity<T>();
      for (index_t j = 0; j < 69; ++j)
        p.bias[attention_size::offset_of(size.pairs(), 0, 0, 11, j)] = minus_infinity<T>();
      solved_attention<T> const solved(p);
      for_each_backend(p.backend_seed(),
                       [&](any_exec const& exec) { CHECK(check_attention(solved, exec) == ""); });
    }
}

TEST_CASE_TEMPLATE("finite scores give no NaN", T, float, double, float16, bfloat16) {
  attention_size const size{1, 2, 21, 40, 1, 3};
  double const huge = huge_value<T>(),
               values[] = {huge, -huge, 1, -1, 0, 1 / huge, 0.3 * huge, -huge, huge};
  for (std::uint64_t seed = 0; seed < 14; ++seed) {
    auto p =
        normal_attention<T>(size, random_mask(mask_kind_of(seed), size, seed), seed, seed % 2 == 0);
    random_stream random(seed);
    auto const random_value = [&] { return from_double<T>(values[random.below(9)]); };
    for (T& q : p.q) q = random_value();
    for (T& k : p.k) k = random_value();
    for (T& bias : p.bias) bias = random.below(4) == 0 ? minus_infinity<T>() : random_value();
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const check = [&](auto algorithm) {
        auto const r = run_attention(p, exec, algorithm);
        CHECK((!has_nan(r.y) && !has_nan(r.state) && !has_nan(r.dq) && !has_nan(r.dk) &&
               !has_nan(r.dv) && !has_nan(r.dbias)));
        double max_value = 0;  // bounds y, because y is a weighted mean of values
        for (double v : to_doubles(p.v)) max_value = std::max(max_value, std::fabs(v));
        for (double y : to_doubles(r.y)) CHECK(std::fabs(y) <= 1.01 * max_value);
      };
      check(ss::streaming{});
      check(ss::materialized<>{});
    });
  }
}

TEST_CASE_TEMPLATE("denormals", T, float, double, float16, bfloat16) {
  attention_size const size{1, 1, 18, 35, 4, 5};
  auto p = normal_attention<T>(size, {}, 30, true);
  p.q = make_column<T>(input_kind::denormals, p.q.size(), 1);
  p.bias = make_column<T>(input_kind::denormals, p.bias.size(), 2);
  solved_attention<T> const tiny_scores(p);
  for_each_backend(p.backend_seed(),
                   [&](any_exec const& exec) { CHECK(check_attention(tiny_scores, exec) == ""); });
  p.v = make_column<T>(input_kind::denormals, p.v.size(), 3);
  p.dy = make_column<T>(input_kind::denormals, p.dy.size(), 4);
  solved_attention<T> const tiny_values(p);
  for_each_backend(p.backend_seed(),
                   [&](any_exec const& exec) { CHECK(check_attention(tiny_values, exec) == ""); });
}

TEST_CASE_TEMPLATE("padding rows are not read", T, float, double, float16, bfloat16) {
  attention_size const size{4, 1, 34, 37, 9, 8};
  for (mask_kind kind : all_mask_kinds)
    for (ss::grad_mode mode : {ss::grad_mode::overwrite, ss::grad_mode::accumulate}) {
      auto p = normal_attention<T>(size, random_mask(kind, size, 9), 50,
                                   static_cast<int>(kind) % 2 == 0);
      p.mode = mode;
      p.lengths = {37, 1, 0, 20};
      p.query_lengths = {1, 34, 20, 0};
      if (kind == mask_kind::causal) p.query_lengths.clear();
      if (kind == mask_kind::window) p.lengths.clear();
      auto with_nan_padding = p;
      auto const fill_padding = [&](std::vector<T>& values, extents4 e, bool rows_are_keys,
                                    bool pairs) {
        for (index_t b = 0; b < e.batch; ++b)
          for (index_t h = 0; h < e.heads; ++h)
            for (index_t i = 0; i < e.length; ++i)
              for (index_t c = 0; c < e.channels; ++c)
                if (i >= (rows_are_keys ? p.valid_keys(b) : p.valid_queries(b)) ||
                    (pairs && c >= p.valid_keys(b)))
                  values[attention_size::offset_of(e, b, h, i, c)] = nan_value<T>();
      };
      fill_padding(with_nan_padding.q, size.q(), false, false);
      fill_padding(with_nan_padding.k, size.k(), true, false);
      fill_padding(with_nan_padding.v, size.v(), true, false);
      fill_padding(with_nan_padding.dy, size.y(), false, false);
      if (!p.bias.empty()) fill_padding(with_nan_padding.bias, size.pairs(), false, true);
      solved_attention<T> const solved(p);
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        CHECK(check_attention(solved, exec) == "");
        CHECK(same_results(run_attention(with_nan_padding, exec, ss::streaming{}),
                           run_attention(p, exec, ss::streaming{})));
        CHECK(same_results(run_attention(with_nan_padding, exec, ss::materialized<>{}),
                           run_attention(p, exec, ss::materialized<>{})));
      });
    }
}

TEST_CASE_TEMPLATE("a NaN in a query affects only its own row", T, float, float16) {
  attention_size const size{1, 2, 33, 40, 8, 8};
  auto p = normal_attention<T>(size, {}, 70);
  p.requested = wants_dq | wants_dbias;
  auto with_nan_query = p;
  with_nan_query.q[attention_size::offset_of(size.q(), 0, 1, 17, 3)] = nan_value<T>();
  auto const only_row_differs = [&](std::vector<T> const& actual, std::vector<T> const& expected,
                                    extents4 e) {
    for (index_t h = 0; h < 2; ++h)
      for (index_t i = 0; i < e.length; ++i)
        for (index_t c = 0; c < e.channels; ++c) {
          std::size_t const index = attention_size::offset_of(e, 0, h, i, c);
          if ((h != 1 || i != 17) && !same_bits(actual[index], expected[index])) return false;
        }
    return true;
  };
  for_each_backend_and_algorithm(p.backend_seed(), [&](any_exec const& exec, auto algorithm) {
    auto const actual = run_attention(with_nan_query, exec, algorithm),
               expected = run_attention(p, exec, algorithm);
    CHECK(only_row_differs(actual.y, expected.y, size.y()));
    CHECK(only_row_differs(actual.dq, expected.dq, size.q()));
    CHECK(only_row_differs(actual.dbias, expected.dbias, size.pairs()));
  });
}
