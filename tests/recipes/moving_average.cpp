// SPDX-License-Identifier: Apache-2.0
// The recipe moving_average against sums over all rows, golden values, and differences.
#include "recipes/mega/moving_average.hpp"

#include "recurrence.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

template <class T>
using layer = recipes::moving_average<T, ss::exec::host>;
constexpr std::size_t delta = 0, alpha = 1, beta = 2, gamma_weight = 3, parameters = 5;

recurrence make_problem(extents3 e, index_t states) {
  return make_recurrence(e, {2 * states, 2 * states, 2 * states, 2 * states});
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }
owned<double> oracle(recurrence const& problem) {
  auto const response = [](recurrence const& p, index_t direction, index_t lag, index_t channel) {
    index_t const states = p.parameters[delta].shape.heads / 2;
    double sum = 0;
    for (index_t i = direction * states; i < (direction + 1) * states; ++i) {
      double const share = sigmoid(p.number(delta, i, channel)),
                   decay = 1 - share * sigmoid(p.number(alpha, i, channel));
      sum += share * p.number(beta, i, channel) * p.number(gamma_weight, i, channel) *
             std::pow(decay, static_cast<double>(lag));
    }
    return sum / std::sqrt(static_cast<double>(states));
  };
  return sum_over_rows(problem, response, silu);
}

}  // namespace

TEST_CASE("golden values") {
  // Decays .7113485948 and .7351077736 with weights .2721539436 and -.1203658329, and in reverse
  // without weights.
  recurrence p{{{1, 1, 2, 1}, {1, 0}}, owned<double>({1, 1, 2, 1}, 1), {}};
  extents4 const numbers{1, 4, 1, 1};
  p.parameters = {{numbers, {.2, -.3, 0, 0}},
                  {numbers, {.1, .5, 0, 0}},
                  {numbers, {1, -1, 0, 0}},
                  {numbers, {.7, .4, 0, 0}},
                  {{1, 1, 1, 1}, {.5}}};
  auto const r = run_recurrence<double, layer<double>, parameters>(p);
  double const first = .2721539436 - .1203658329 + .5,
               second = .2721539436 * .7113485948 - .1203658329 * .7351077736;
  check_close(r[0], {p.x.shape, {silu(first), silu(second)}}, 1e-9);
}

TEST_CASE("sums over all rows, and differences") {
  check_recurrence<layer<double>, parameters>(make_problem({2, 7, 2}, 3), oracle);
}

TEST_CASE("rows of wider tensors") {
  check_wide_rows<layer<double>, parameters>(make_problem({2, 7, 3}, 2));
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  for (index_t length : {1, 2, 63, 200}) {
    auto p = make_problem({2, length, 5}, 16);
    if (length > 2) p.lengths = {length / 2, length};
    check_recurrence_rounded<T, layer, parameters>(p, length + 16);
  }
}
