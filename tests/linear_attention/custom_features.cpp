// SPDX-License-Identifier: Apache-2.0
// User-defined feature maps of linear_attention. One reimplements a built-in map and must give the
// same bits. Another reads all its arguments and must match its definition.
#define SLICESORT_TEST_EVERY_BACKEND
#include "oracle.hpp"
#include "support/error_message.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

using doubles = std::vector<double>;

// Returns the features of row i of q or k, as custom_feature_kind::positional defines them.
doubles positional_features(doubles const& x, index_t channels, index_t i, index_t length,
                            double eps) {
  double const position = static_cast<double>(i + 1) / static_cast<double>(2 * length);
  doubles phi;
  auto const first = static_cast<std::size_t>(i * channels),
             last = first + static_cast<std::size_t>(channels);
  for (std::size_t c = first; c < last; ++c) phi.push_back(position * x[c]);
  for (std::size_t c = first; c < last; ++c) phi.push_back((1 - position) * x[c] * x[c]);
  phi.push_back(eps);
  return phi;
}
// Returns the outputs of a problem with one head and divisor::at_least.
doubles positional_outputs(linear_problem<double> const& problem, double eps) {
  linear_size const& s = problem.size;
  index_t const queries = problem.valid_queries(0), keys = problem.valid_keys(0);
  doubles y(problem.dy.size());
  for (index_t i = 0; i < queries; ++i) {
    doubles const phi_q =
        positional_features(problem.q, s.channels, i, std::max(queries, keys), eps);
    doubles sums(static_cast<std::size_t>(s.values));
    double weight_sum = 0;
    for (index_t j = 0; j < (problem.causal ? std::min(i + 1, keys) : keys); ++j) {
      doubles const phi_k =
          positional_features(problem.k, s.channels, j, std::max(queries, keys), eps);
      double weight = 0;
      for (std::size_t f = 0; f < phi_q.size(); ++f) weight += phi_q[f] * phi_k[f];
      weight_sum += weight;
      for (std::size_t c = 0; c < sums.size(); ++c)
        sums[c] += weight * problem.v[static_cast<std::size_t>(j * s.values) + c];
    }
    double const divisor =
        std::max(weight_sum, std::get<ss::divisor::at_least>(problem.divisor).eps);
    for (std::size_t c = 0; c < sums.size(); ++c)
      y[static_cast<std::size_t>(i * s.values) + c] = sums[c] / divisor;
  }
  return y;
}
double loss(linear_problem<double> const& problem, double eps) {
  doubles const y = positional_outputs(problem, eps);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * problem.dy[i];
  return sum;
}
double max_difference(doubles const& a, doubles const& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = max_or_nan(difference, std::fabs(a[i] - b[i]));
  return difference;
}

}  // namespace

TEST_CASE_TEMPLATE("a reimplemented built-in map has the same bits", T, float, double, bfloat16) {
  for (bool causal : {false, true})
    for (index_t rows : {9, 70})
      for (double eps : {0.0, 0.25}) {
        auto problem = random_linear<T>({2, 2, rows, causal ? rows : 13, 5, 6}, feature_index::relu,
                                        divisor_index::at_least, causal,
                                        20 + static_cast<std::uint64_t>(rows));
        problem.feature = ss::feature::relu{eps};
        CAPTURE(problem.describe());
        for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
          CAPTURE(describe_exec(exec));
          auto const actual = run_custom({custom_feature_kind::relu, eps}, problem, exec);
          CHECK(actual.wrong == "");
          CHECK(same_results(actual, run_linear(problem, exec)));
        });
      }
}

// The map reads the row's index and the length, and has more features than channels. Gradients are
// compared with finite differences with a step of 2^-17 (see gradients.cpp).
TEST_CASE("a map that reads its row's position") {
  double const eps = 0.75, step = std::ldexp(1.0, -17);
  for (bool causal : {false, true})
    for (index_t keys : {70, 65}) {
      auto problem = normal_linear<double>({1, 1, 70, 70, 3, 2}, ss::feature::relu{},
                                           ss::divisor::at_least{1e-3}, causal, 51);
      problem.lengths = {keys}, problem.query_lengths = {67};
      CAPTURE(problem.describe());
      doubles const expected = positional_outputs(problem, eps);
      auto const differences = [&](doubles linear_problem<double>::*tensor) {
        doubles results;
        auto shifted = problem;
        for (std::size_t i = 0; i < (problem.*tensor).size(); i += 7) {
          (shifted.*tensor)[i] = (problem.*tensor)[i] + step;
          double const above = loss(shifted, eps);
          (shifted.*tensor)[i] = (problem.*tensor)[i] - step;
          results.push_back((above - loss(shifted, eps)) / (2 * step));
          (shifted.*tensor)[i] = (problem.*tensor)[i];
        }
        return results;
      };
      auto const every_seventh = [](doubles const& values) {
        doubles selected;
        for (std::size_t i = 0; i < values.size(); i += 7) selected.push_back(values[i]);
        return selected;
      };
      doubles const dq = differences(&linear_problem<double>::q),
                    dk = differences(&linear_problem<double>::k),
                    dv = differences(&linear_problem<double>::v);
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const actual = run_custom({custom_feature_kind::positional, eps}, problem, exec);
        CHECK(max_difference(actual.y, expected) < 1e-11);
        CHECK(max_difference(every_seventh(actual.dq), dq) < 1e-7);
        CHECK(max_difference(every_seventh(actual.dk), dk) < 1e-7);
        CHECK(max_difference(every_seventh(actual.dv), dv) < 1e-7);
      });
    }
}

TEST_CASE("a map that rejects its parameters") {
  auto const error_of = [](custom_feature const& feature, index_t channels) {
    ss::linear_attention<custom_feature, ss::divisor::at_least> const op{feature};
    extents4 const e{1, 1, 2, channels};
    std::vector<float> memory(4 * static_cast<std::size_t>(e.size()), 1.0f);
    auto const tensor = [&](int i) { return memory.data() + i * e.size(); };
    ss::linear_attention_inputs<float> const in{{tensor(0), e}, {tensor(1), e}, {tensor(2), e}, {}};
    tensor4<float> const y(tensor(3), e);
    ss::exec::host const exec;
    ss::workspace const no_workspace{};
    std::string const forward_error =
        error_message(op.forward(ss::exec::dry_run{exec}, in, y, no_workspace),
                      [&] { op.forward(exec, in, y, no_workspace); });
    std::string const size_query_error =
        error_message(op.workspace_bytes<float>(ss::exec::dry_run{exec}, e, e),
                      [&] { (void)op.workspace_bytes<float>(exec, e, e); });
    std::string const prefix = "linear_attention.forward: ";
    CHECK(forward_error.substr(0, prefix.size()) == prefix);
    CHECK(size_query_error ==
          "linear_attention.workspace_bytes: " + forward_error.substr(prefix.size()));
    return forward_error;
  };
  CHECK(
      error_of({custom_feature_kind::relu, -1}, 3) ==
      "linear_attention.forward: feature custom_feature: eps must not be negative (channels is 3)");
  CHECK(
      error_of({custom_feature_kind::positional, 0}, 99) ==
      "linear_attention.forward: feature custom_feature: channels must not end with 99 (channels is "
      "99)");
}
