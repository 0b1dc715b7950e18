// SPDX-License-Identifier: Apache-2.0
// Feature maps that callers bring to linear_attention: one that repeats a map of the library gives
// its bits; one that looks at all that it is told gives what the definition says.
#define SLICESORT_TEST_EVERY_BACKEND
#include "run_own.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

using numbers = std::vector<double>;

// Row i of q or k by the definition of custom_feature_kind::positional.
numbers features_by_place(numbers const& x, index_t channels, index_t i, index_t length,
                          double eps) {
  double const a = static_cast<double>(i + 1) / static_cast<double>(2 * length);
  numbers phi;
  auto const first = static_cast<std::size_t>(i * channels),
             last = first + static_cast<std::size_t>(channels);
  for (std::size_t c = first; c < last; ++c) phi.push_back(a * x[c]);
  for (std::size_t c = first; c < last; ++c) phi.push_back((1 - a) * x[c] * x[c]);
  phi.push_back(eps);
  return phi;
}
// y of a problem of one head, with at_least.
numbers outputs_by_place(linear_problem<double> const& p, double eps) {
  linear_size const& s = p.size;
  index_t const n = p.valid_queries(0), m = p.valid_keys(0);
  numbers y(p.dy.size());
  for (index_t i = 0; i < n; ++i) {
    numbers const of_q = features_by_place(p.q, s.channels, i, std::max(n, m), eps);
    numbers sums(static_cast<std::size_t>(s.values));
    double d = 0;
    for (index_t j = 0; j < (p.causal ? std::min(i + 1, m) : m); ++j) {
      numbers const of_k = features_by_place(p.k, s.channels, j, std::max(n, m), eps);
      double weight = 0;
      for (std::size_t f = 0; f < of_q.size(); ++f) weight += of_q[f] * of_k[f];
      d += weight;
      for (std::size_t c = 0; c < sums.size(); ++c)
        sums[c] += weight * p.v[static_cast<std::size_t>(j * s.values) + c];
    }
    double const by = std::max(d, std::get<ss::divisor::at_least>(p.divisor).eps);
    for (std::size_t c = 0; c < sums.size(); ++c)
      y[static_cast<std::size_t>(i * s.values) + c] = sums[c] / by;
  }
  return y;
}
double loss(linear_problem<double> const& p, double eps) {
  numbers const y = outputs_by_place(p, eps);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * p.dy[i];
  return sum;
}
double farthest(numbers const& a, numbers const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST_CASE_TEMPLATE("a map of the library's, repeated", T, float, double, float16, bfloat16) {
  for (bool causal : {false, true})
    for (index_t rows : {9, 70})
      for (double eps : {0.0, 0.25}) {
        auto p = any_linear<T>({2, 2, rows, causal ? rows : 13, 5, 6}, 1, 1, causal,
                               20 + static_cast<std::uint64_t>(rows));
        p.feature = ss::feature::relu{eps};
        CAPTURE(p.describe());
        for_each_backend_once(p.number(), [&](any_exec const& exec) {
          CAPTURE(describe_exec(exec));
          auto const got = run_own({custom_feature_kind::relu, eps}, p, exec);
          CHECK(got.wrong == "");
          CHECK(same_results(got, run_linear(p, exec)));
        });
      }
}

// The number of a row, the larger number of valid rows, more features than channels; and the
// gradient by differences (a step of 2^-17, see gradients.cpp).
TEST_CASE("a map that looks at its row's place") {
  double const eps = 0.75, step = std::ldexp(1.0, -17);
  for (bool causal : {false, true})
    for (index_t keys : {70, 65}) {
      auto p = normal_linear<double>({1, 1, 70, 70, 3, 2}, ss::feature::relu{},
                                     ss::divisor::at_least{1e-3}, causal, 51);
      p.lengths = {keys}, p.query_lengths = {67};
      CAPTURE(p.describe());
      numbers const want = outputs_by_place(p, eps);
      auto const differences = [&](numbers linear_problem<double>::*of) {
        numbers all;
        auto near = p;
        for (std::size_t i = 0; i < (p.*of).size(); i += 7) {
          (near.*of)[i] = (p.*of)[i] + step;
          double const above = loss(near, eps);
          (near.*of)[i] = (p.*of)[i] - step;
          all.push_back((above - loss(near, eps)) / (2 * step));
          (near.*of)[i] = (p.*of)[i];
        }
        return all;
      };
      auto const every_seventh = [](numbers const& all) {
        numbers some;
        for (std::size_t i = 0; i < all.size(); i += 7) some.push_back(all[i]);
        return some;
      };
      numbers const dq = differences(&linear_problem<double>::q),
                    dk = differences(&linear_problem<double>::k),
                    dv = differences(&linear_problem<double>::v);
      for_each_backend_once(p.number(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const got = run_own({custom_feature_kind::positional, eps}, p, exec);
        CHECK(farthest(got.y, want) < 1e-11);
        CHECK(farthest(every_seventh(got.dq), dq) < 1e-7);
        CHECK(farthest(every_seventh(got.dk), dk) < 1e-7);
        CHECK(farthest(every_seventh(got.dv), dv) < 1e-7);
      });
    }
}

TEST_CASE("what a map says is wrong") {
  auto const message = [](custom_feature const& feature, index_t channels) {
    ss::linear_attention<custom_feature, ss::divisor::at_least> const op{feature};
    extents4 const e{1, 1, 2, channels};
    std::vector<float> memory(4 * static_cast<std::size_t>(e.size()), 1.0f);
    auto const at = [&](int i) { return memory.data() + i * e.size(); };
    ss::linear_attention_inputs<float> const in{{at(0), e}, {at(1), e}, {at(2), e}, {}};
    tensor4<float> const y(at(3), e);
    ss::exec::host const exec;
    ss::workspace const none{};
    std::string const one = refusal(op.forward(ss::exec::dry_run{exec}, in, y, none),
                                    [&] { op.forward(exec, in, y, none); });
    std::string const two = refusal(op.workspace_bytes<float>(ss::exec::dry_run{exec}, e, e),
                                    [&] { (void)op.workspace_bytes<float>(exec, e, e); });
    std::string const first = "linear_attention.forward: ";
    CHECK(one.substr(0, first.size()) == first);
    CHECK(two == "linear_attention.workspace_bytes: " + one.substr(first.size()));
    return one;
  };
  CHECK(
      message({custom_feature_kind::relu, -1}, 3) ==
      "linear_attention.forward: feature custom_feature: eps must not be negative (channels is 3)");
  CHECK(
      message({custom_feature_kind::positional, 0}, 99) ==
      "linear_attention.forward: feature custom_feature: channels must not end with 99 (channels is "
      "99)");
}
