// SPDX-License-Identifier: Apache-2.0
// Properties of pointwise_attention: the same bits for every thread count, executor, instruction
// set and split of the batch; masks of the library; special values; and the accuracy of erf.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "softmax_attention/oracle.hpp"
#include "softmax_attention/problem.hpp"
#include "support/error_message.hpp"
#include "support/executors.hpp"

#include <slicesort/detail/math/error_function.hpp>
#include <slicesort/policies/mask.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace support;

namespace {

// Extracts a sample of a problem, or of its results.
template <class T>
std::vector<T> sample_of(std::vector<T> const& values, index_t batch, index_t b) {
  auto const count = static_cast<std::ptrdiff_t>(values.size()) / batch;
  auto const first = values.begin() + b * count;
  return std::vector<T>(first, first + count);
}
template <class T>
attention_problem<T> sample_of(attention_problem<T> p, index_t b) {
  index_t const batch = p.size.batch;
  for (auto* tensor : {&p.q, &p.k, &p.v, &p.bias, &p.dy, &p.dq, &p.dk, &p.dv, &p.dbias})
    *tensor = sample_of(*tensor, batch, b);
  for (auto* list : {&p.lengths, &p.query_lengths})
    if (!list->empty()) *list = sample_of(*list, batch, b);
  p.size.batch = 1;
  return p;
}
template <class T>
pointwise_results<T> sample_of(pointwise_results<T> r, index_t batch, index_t b) {
  for (auto* tensor : {&r.y, &r.dq, &r.dk, &r.dv, &r.dbias}) *tensor = sample_of(*tensor, batch, b);
  return r;
}

// Number of elements of a row that are NaN.
template <class T>
index_t count_nans(std::vector<T> const& values, index_t row, index_t width) {
  return std::count_if(values.begin() + row * width, values.begin() + (row + 1) * width,
                       [](T v) { return decode(v).kind == number_class::nan; });
}

// Distance of erf(x) from the exact value, in units in the last place of A.
template <class A>
double erf_error(A x) {
  long double const exact = std::erf(static_cast<long double>(x));
  int exponent = 0;
  (void)std::frexp(static_cast<double>(exact), &exponent);
  long double const ulp = std::ldexp(1.0L, exponent - std::numeric_limits<A>::digits);
  return static_cast<double>(std::fabs(ss::detail::erf(x) - exact) / ulp);
}

}  // namespace

TEST_CASE_TEMPLATE("same bits for every thread count, executor and instruction set" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, double, float16, bfloat16) {
  std::uint64_t seed = 60;
  for (attention_size size :
       {attention_size{2, 3, 40, 35, 8, 9}, attention_size{1, 1, 150, 131, 16, 5},
        attention_size{3, 2, 17, 70, 33, 32, 2}}) {
    auto p = random_attention<T>(size, ++seed);
    p.per_key = seed % 2 == 0;
    p.dropout = {};
    for_each_score_function<T>([&](auto const& function, auto const&) {
      auto const expected = run_pointwise(p, function, ss::exec::host{});
      auto const check = [&](any_exec const& exec) {
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        CHECK(same_results(run_pointwise(p, function, exec), expected));
      };
      for (unsigned threads : {2u, 3u, 33u}) check(ss::exec::host{threads});
      for (ss::isa set : available_isas()) check(ss::exec::host{2, set});
      for (auto schedule : {test_executor::schedule::backwards, test_executor::schedule::scattered,
                            test_executor::schedule::threads}) {
        test_executor executor{schedule};
        check(any_exec(executor, 5));
      }
    });
  }
}

TEST_CASE_TEMPLATE("one sample at a time", T, float, double, bfloat16) {
  auto p = random_attention<T>({3, 2, 40, 70, 8, 9}, 7, mask_kind::causal);
  p.lengths = {70, 0, 9};
  p.per_key = true;
  p.dropout = {};
  for_each_score_function<T>([&](auto const& function, auto const&) {
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const whole = run_pointwise(p, function, exec);
      for (index_t b = 0; b < 3; ++b)
        CHECK(same_results(run_pointwise(sample_of(p, b), function, exec), sample_of(whole, 3, b)));
    });
  });
}

// A table of booleans, packed sequences, and sparse masks.
TEST_CASE_TEMPLATE("masks of the library" * doctest::skip(!testing(backend_kind::host)), T, float,
                   bfloat16) {
  attention_size const size{2, 2, 50, 60, 8, 9};
  bool table[50 * 60];
  for (int i = 0; i < 50 * 60; ++i) table[i] = i * 7 % 5 < 2;
  index_t const offsets[] = {0, 20, 45, 50}, key_offsets[] = {0, 30, 31, 60};
  auto const check = [&](auto const& mask) {
    auto p = normal_attention<T>(size, {}, 11, true);
    p.is_visible = [&](index_t sample, index_t head, index_t i, index_t j) {
      auto const is_visible = [&](auto const& head_mask) {
        ss::key_range const range = ss::detail::clamped_key_range(head_mask, i, size.keys);
        return range.first <= j && j < range.last && ss::detail::allows_key(head_mask, i, j);
      };
      return is_visible(ss::detail::mask_of_head(mask, sample, head));
    };
    squared_relu_oracle const oracle;
    solved_attention<T> const solved(with_function(p, oracle));
    any_exec const exec = ss::exec::host{2};
    auto const op = make_pointwise(solved.problem, mask, ss::score_function::squared_relu{});
    CHECK(pointwise_error(solved, exec, run_operator(op, solved.problem, ss::exec::host{2})) == "");
  };
  check(ss::mask::tensor{{table, {1, 1, 50, 60}}});
  check(ss::mask::segments<index_t>{{offsets, 4}, {key_offsets, 4}});
  check(ss::mask::both<ss::mask::causal, ss::mask::fixed>{ss::mask::causal{},
                                                          ss::mask::fixed{16, 3}});
  check(ss::mask::both<ss::mask::causal, ss::mask::window>{ss::mask::causal{3},
                                                           ss::mask::window{9, 9}});
}

// Keys with a bias of -infinity weigh 0, even if the function of -infinity is not 0, and have no
// gradient. A NaN in a query stays in its row, and one past a length is not read.
TEST_CASE_TEMPLATE("infinite biases and NaN", T, float, double, bfloat16) {
#if !defined(__FAST_MATH__)
  attention_size const size{1, 1, 20, 30, 8, 5};
  auto p = normal_attention<T>(size, {}, 5, true);
  p.lengths = {28};
  for (index_t i = 0; i < size.queries; ++i)
    for (index_t j : {3, 17})
      p.bias[static_cast<std::size_t>(i * size.keys + j)] = minus_infinity<T>();
  auto with_nan = p;
  with_nan.q[4 * 8 + 1] = nan_value<T>();
  for (index_t j : {28, 29}) with_nan.k[static_cast<std::size_t>(j * 8)] = nan_value<T>();
  for_each_score_function<T>([&](auto const& function, auto const& oracle) {
    solved_attention<T> const solved(with_function(p, oracle));
    for_each_backend_once(1, [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      auto const finite = run_pointwise(p, function, exec);
      CHECK(pointwise_error(solved, exec, finite) == "");
      for (index_t i = 0; i < size.queries; ++i)
        CHECK(decode(finite.dbias[static_cast<std::size_t>(i * size.keys + 3)]).value == 0);
      auto const results = run_pointwise(with_nan, function, exec);
      CHECK(results.wrong == "");
      for (index_t i = 0; i < size.queries; ++i) {
        CAPTURE(i);
        CHECK(count_nans(results.y, i, 5) == (i == 4 ? 5 : 0));
        CHECK(count_nans(results.dq, i, 8) == (i == 4 ? 8 : 0));
      }
    });
  });
#endif
}

// A sample without keys has zeros, also with a scale per key and a function that is not 0 at 0.
TEST_CASE("no keys") {
  auto p = normal_attention<float>({2, 1, 9, 12, 4, 4}, {}, 3);
  p.lengths = {0, 12};
  p.per_key = true;
  for_each_backend_once(1, [&](any_exec const& exec) {
    auto const r = run_pointwise(p, custom_score_function{}, exec);
    CHECK(sample_of(r.y, 2, 0) == std::vector<float>(36));
    CHECK(sample_of(r.dq, 2, 0) == std::vector<float>(36));
    CHECK(sample_of(r.y, 2, 1) != std::vector<float>(36));
  });
}

// The documented 1.5 units in the last place, for arguments of every magnitude.
TEST_CASE("erf") {
  float const largest_float = std::numeric_limits<float>::max();
  std::uint32_t const stride = full_suite() ? 17 : 40009;
  double worst_float = 0, worst_double = 0;
  for (std::uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += stride) {
    auto const x = ss::detail::bit_cast<float>(bits);
    worst_float = max_or_nan(worst_float, erf_error(x));
    CHECK_UNARY(ss::detail::erf(-x) == -ss::detail::erf(x));
  }
  for (double x = 1e-300; x < 7; x *= x < 1e-3 ? 1.7 : 1 + (full_suite() ? 1e-6 : 3e-4))
    worst_double = max_or_nan(worst_double, erf_error(x));
  CHECK(worst_float <= 1.5);
  CHECK(worst_double <= 1.5);
  CHECK(worst_float > 0.5);
  CHECK(ss::detail::erf(0.0) == 0);
  CHECK(ss::detail::erf(largest_float) == 1);
  CHECK(ss::detail::erf(-1e300) == -1);
#if !defined(__FAST_MATH__)
  CHECK(ss::detail::erf(std::numeric_limits<double>::infinity()) == 1);
  CHECK(std::isnan(ss::detail::erf(std::numeric_limits<double>::quiet_NaN())));
  CHECK(std::isnan(ss::detail::erf(std::numeric_limits<float>::quiet_NaN())));
#endif
}

// Errors name the argument, a dry run reports the same, and nothing is written.
TEST_CASE("errors") {
  std::vector<float> values(4096, 2.5F), outputs(4096, 2.5F);
  extents4 const shape{1, 2, 5, 4};
  tensor4<float> const x(values.data(), shape), y(outputs.data(), shape),
      dq(outputs.data() + 500, shape), dk(outputs.data() + 1000, shape),
      dv(outputs.data() + 1500, shape);
  ss::exec::host const exec;
  ss::scratch memory;
  auto const forward = [&](auto const& op, ss::attention_inputs<float> const& in, auto const& out,
                           ss::attention_options options = {}) {
    return error_message(op.forward(ss::exec::dry_run{exec}, in, out, memory, options),
                         [&] { op.forward(exec, in, out, memory, options); });
  };
  auto const backward = [&](ss::attention_gradients<float> const& grads,
                            ss::attention_backward_options options = {}) {
    ss::pointwise_attention<> const op;
    return error_message(op.backward(ss::exec::dry_run{exec}, x, {x, x, x}, grads, memory, options),
                         [&] {
                           op.backward(exec, x, {x, x, x}, grads, memory, options);
                         });
  };
  ss::pointwise_attention<> const op;
  CHECK(forward(op, {x, x, x}, y) == "");
  CHECK(backward({dq, dk, dv}) == "");
  auto const before = outputs;
  tensor4<float const> const narrow(values.data(), {1, 2, 5, 3}),
      three_heads(values.data(), {1, 3, 5, 4});
  CHECK(forward(op, {x, narrow, x}, y) ==
        "pointwise_attention.forward: k.channels is 3, must be 4 (q.channels)");
  CHECK(forward(op, {x, three_heads, three_heads}, y) ==
        "pointwise_attention.forward: v.heads is 3, must divide 2 (q.heads)");
  CHECK(forward(op, {x, x, x}, x).find("pointwise_attention.forward: y overlaps q") == 0);
  CHECK(forward(op, {x, x, x}, y, ss::dropout{0.5, 1}) ==
        "pointwise_attention.forward: dropout.rate is 0.5, must be 0: pointwise attention has no "
        "dropout");
  CHECK(backward({dq, dk, dv}, ss::dropout{0.5, 1}) ==
        "pointwise_attention.backward: dropout.rate is 0.5, must be 0: pointwise attention has no "
        "dropout");
  CHECK(backward({dq, dq, {}}).find("pointwise_attention.backward: dq overlaps dk") == 0);
  CHECK(forward(ss::pointwise_attention{std::numeric_limits<double>::max()}, {x, x, x}, y)
            .find("pointwise_attention.forward: scale is 1.79769e+308, must be in ") == 0);
  CHECK(forward(ss::pointwise_attention{ss::score_function::laplace{0.5, 0}}, {x, x, x}, y) ==
        "pointwise_attention.forward: function laplace: deviation must be in 1e-15..1e15 "
        "(channels is 4)");
  CHECK(forward(ss::pointwise_attention{ss::mask::block_local{0}}, {x, x, x}, y) ==
        "pointwise_attention.forward: mask block_local: size must be in 1..2^40 (k.length is 5)");
  CHECK(error_message(op.workspace_bytes<float>(ss::exec::dry_run{exec}, shape, {1, 3, 5, 4}), [&] {
          op.workspace_bytes<float>(exec, shape, {1, 3, 5, 4});
        }) == "pointwise_attention.workspace_bytes: v.heads is 3, must divide 2 (q.heads)");
  CHECK(same_bits(outputs, before));
}
