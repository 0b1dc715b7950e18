// SPDX-License-Identifier: Apache-2.0
// The recipe etsmlp against sums over all rows, golden values, and differences.
#include "recipes/state_space/etsmlp.hpp"

#include "recurrence.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

template <class T>
using layer = recipes::etsmlp<T, ss::exec::host>;
constexpr std::size_t log_rate = 0, log_weight = 1, parameters = 3;

// Rates with real parts below -0.2, so that decays are below 0.8.
recurrence make_problem(extents3 e, index_t directions) {
  auto p = make_recurrence(e, {2 * directions, 2 * directions});
  for (index_t i = 0; i < directions; ++i)
    for (index_t c = 0; c < e.channels; ++c) p.parameters[log_rate](0, 2 * i + 1, 0, c) += 2.8;
  return p;
}
owned<double> oracle(recurrence const& problem) {
  auto const response = [](recurrence const& p, index_t direction, index_t lag, index_t channel) {
    if (2 * direction >= p.parameters[log_rate].shape.heads) return 0.0;
    std::complex<double> rate = std::exp(p.complex(log_rate, direction, channel));
    rate.real(std::min(rate.real(), std::log(.9999)));
    return std::real(std::exp(p.complex(log_weight, direction, channel)) * (1.0 - std::exp(rate)) *
                     std::exp(static_cast<double>(lag) * rate));
  };
  return sum_over_rows(problem, response, [](double y) { return y; });
}

}  // namespace

TEST_CASE("golden values") {
  // The first decay of the golden values of decaying_sum, .5 + .5 i, twice: with weight 1, the
  // real part of the state, and with weight -i, its imaginary part.
  recurrence p{{{1, 1, 3, 2}, {1, 1, 0, 0, 2, 2}}, owned<double>({1, 1, 3, 2}, 1), {}};
  std::complex<double> const decay(.5, .5), weights[2] = {{1, 0}, {0, -1}};
  p.parameters = {owned<double>({1, 2, 1, 2}), owned<double>({1, 2, 1, 2}),
                  owned<double>({1, 1, 1, 2})};
  for (index_t channel = 0; channel < 2; ++channel) {
    std::complex<double> const rate = std::log(std::log(decay)),
                               weight = std::log(weights[channel] / (1.0 - decay));
    p.parameters[log_rate](0, 0, 0, channel) = rate.real();
    p.parameters[log_rate](0, 1, 0, channel) = rate.imag();
    p.parameters[log_weight](0, 0, 0, channel) = weight.real();
    p.parameters[log_weight](0, 1, 0, channel) = weight.imag();
  }
  // States 1, .5 + .5 i, 2 + .5 i.
  auto const r = run_recurrence<double, layer<double>, parameters>(p);
  check_close(r[0], {p.x.shape, {1, 0, .5, .5, 2, .5}}, 1e-14);
}

TEST_CASE("sums over all rows, and differences") {
  for (index_t directions : {1, 2})
    check_recurrence<layer<double>, parameters>(make_problem({2, 7, 2}, directions), oracle);
}

TEST_CASE("decays are limited") {
  auto p = make_recurrence({2, 7, 2}, {4, 4});  // angles below pi / 2: all rates grow
  for (double& value : p.parameters[log_rate].values) value = std::fabs(value) / 4;
  check_recurrence<layer<double>, parameters>(p, oracle);
}

TEST_CASE("rows of wider tensors") {
  check_wide_rows<layer<double>, parameters>(make_problem({2, 7, 3}, 2));
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  for (index_t length : {1, 2, 63, 200}) {
    auto p = make_problem({2, length, 5}, 2);
    for (double& value : p.parameters[log_rate].values) value = std::round(16 * value) / 16;
    if (length > 2) p.lengths = {length / 2, length};
    check_recurrence_rounded<T, layer, parameters>(p, length + 2);
  }
}
