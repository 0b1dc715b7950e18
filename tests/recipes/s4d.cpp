// SPDX-License-Identifier: Apache-2.0
// The recipe s4d against sums over all rows, golden values, and differences.
#include "recipes/state_space/s4d.hpp"

#include "recurrence.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

template <class T>
using layer = recipes::s4d<T, ss::exec::host>;
constexpr std::size_t log_step = 0, log_decay = 1, frequency = 2, c = 3, parameters = 5;

recurrence make_problem(extents3 e, index_t states, index_t directions) {
  return make_recurrence(e, {1, states, states, 2 * states * directions});
}
owned<double> oracle(recurrence const& problem) {
  auto const response = [](recurrence const& p, index_t direction, index_t lag, index_t channel) {
    index_t const states = p.parameters[log_decay].shape.heads;
    double sum = 0;
    for (index_t i = 0; i < states; ++i) {
      index_t const number = direction * states + i;
      if (2 * number >= p.parameters[c].shape.heads) return 0.0;
      std::complex<double> const rate(-std::exp(p.number(log_decay, i, channel)),
                                      p.number(frequency, i, channel)),
          exponent = std::exp(p.number(log_step, 0, channel)) * rate;
      sum += 2 * std::real(p.complex(c, number, channel) * (std::exp(exponent) - 1.0) / rate *
                           std::exp(static_cast<double>(lag) * exponent));
    }
    return sum;
  };
  return sum_over_rows(problem, response, [](double y) { return y; });
}

}  // namespace

TEST_CASE("golden values") {
  // The parameters whose decays are .5 + .5 i and .8 - .3 i, with weights 1 - i and .5 i.
  extents4 const single{1, 1, 1, 1}, pair{1, 2, 1, 1};
  recurrence p{{{1, 1, 4, 1}, {1, 0, 2, -1}}, {{1, 1, 4, 1}, {1, -1, 0, 2}}, {}};
  std::complex<double> const decays[2] = {{.5, .5}, {.8, -.3}}, weights[2] = {{1, -1}, {0, .5}};
  p.parameters = {owned<double>(single), owned<double>(pair), owned<double>(pair),
                  owned<double>({1, 4, 1, 1}), owned<double>(single)};
  for (index_t i = 0; i < 2; ++i) {
    std::complex<double> const rate = std::log(decays[i]),
                               weight = weights[i] * rate / (decays[i] - 1.0);
    p.parameters[log_decay](0, i, 0, 0) = std::log(-rate.real());
    p.parameters[frequency](0, i, 0, 0) = rate.imag();
    p.parameters[c](0, 2 * i, 0, 0) = weight.real();
    p.parameters[c](0, 2 * i + 1, 0, 0) = weight.imag();
  }
  auto const r = run_recurrence<double, layer<double>, parameters>(p);
  double const tolerance = oracle_difference(4 * 2 + weight_roundings);  // rows, states
  check_close(r[0], {p.x.shape, {2, 2.3, 5.48, 3.149}}, tolerance);
  check_close(r[1], {p.x.shape, {.798, .96, 4.6, 4}}, tolerance);
}

TEST_CASE("sums over all rows, and differences") {
  for (index_t directions : {1, 2})
    check_recurrence<layer<double>, parameters>(make_problem({2, 7, 2}, 3, directions), oracle);
}

TEST_CASE("rows of wider tensors") {
  check_wide_rows<layer<double>, parameters>(make_problem({2, 7, 3}, 2, 2));
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  for (index_t length : {1, 2, 63, 200}) {
    auto p = make_problem({2, length, 5}, 16, 2);
    if (length > 2) p.lengths = {length / 2, length};
    check_recurrence_rounded<T, layer, parameters>(p, length + 2 * 16);
  }
}
