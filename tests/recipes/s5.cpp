// SPDX-License-Identifier: Apache-2.0
// The recipe s5 against a dense oracle, s4d, and differences.
#include "recipes/state_space/s5.hpp"

#include "calls.hpp"
#include "check.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/matmul.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <vector>

using namespace recipe_checks;
using slicesort::bfloat16;

namespace {

struct problem {
  owned<double> x, log_step, log_decay, frequency, b, c, skip, dy;
  std::vector<index_t> lengths{};
};
problem make_problem(extents3 e, index_t states, index_t directions) {
  extents4 const x{e.batch, 1, e.length, e.channels}, state{1, 1, 1, states};
  return {random_tensor(x, 1),
          random_tensor(state, 2),
          random_tensor(state, 3),
          random_tensor(state, 4),
          random_tensor({1, 2, states, e.channels}, 5),
          random_tensor({1, 2 * directions, e.channels, states}, 6),
          random_tensor({1, 1, 1, e.channels}, 7),
          random_tensor(x, 8)};
}

template <class T>
struct result {
  owned<T> y, dx, dlog_step, dlog_decay, dfrequency, db, dc, dskip;
};
template <class T>
result<T> run(problem const& p) {
  auto const log_step = convert<T>(p.log_step), log_decay = convert<T>(p.log_decay),
             frequency = convert<T>(p.frequency), b = convert<T>(p.b), c = convert<T>(p.c),
             skip = convert<T>(p.skip);
  auto x = convert<T>(p.x), dy = convert<T>(p.dy);
  for (auto* rows : {&x, &dy}) fill_padding(*rows, p.lengths);
  result<T> r{nan_like(x),         nan_like(x), nan_like(log_step), nan_like(log_decay),
              nan_like(frequency), nan_like(b), nan_like(c),        nan_like(skip)};
  call(recipes::s5<T, ss::exec::host>(ss::exec::host{2}),
       {x.view(), log_step.view(), log_decay.view(), frequency.view(), b.view(), c.view(),
        skip.view()},
       {r.dx.view(), r.dlog_step.view(), r.dlog_decay.view(), r.dfrequency.view(), r.db.view(),
        r.dc.view(), r.dskip.view()},
       dy, r.y, p.lengths);
  return r;
}

// Sums over all rows and states.
owned<double> oracle(problem const& p) {
  using complex = std::complex<double>;
  extents4 const e = p.x.shape;
  owned<double> y(e);
  for (index_t state = 0; state < p.log_step.shape.channels; ++state) {
    complex const rate(-std::exp(p.log_decay(0, 0, 0, state)), p.frequency(0, 0, 0, state)),
        exponent = std::exp(p.log_step(0, 0, 0, state)) * rate,
        gain = (std::exp(exponent) - 1.0) / rate;
    for (index_t b = 0; b < e.batch; ++b) {
      index_t const n = valid_rows(p.lengths, b, e.length);
      for (index_t i = 0; i < n; ++i)
        for (index_t direction = 0; direction < p.c.shape.heads / 2; ++direction) {
          complex sum = 0;
          for (index_t j = 0; j < n; ++j) {
            if (direction == 0 ? j > i : j < i) continue;
            complex z = 0;
            for (index_t k = 0; k < e.channels; ++k)
              z += complex(p.b(0, 0, state, k), p.b(0, 1, state, k)) * p.x(b, 0, j, k);
            sum += std::exp(std::fabs(static_cast<double>(i - j)) * exponent) * gain * z;
          }
          for (index_t k = 0; k < e.channels; ++k)
            y(b, 0, i, k) += 2 * std::real(complex(p.c(0, 2 * direction, k, state),
                                                   p.c(0, 2 * direction + 1, k, state)) *
                                           sum);
        }
    }
  }
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t i = 0; i < valid_rows(p.lengths, b, e.length); ++i)
      for (index_t k = 0; k < e.channels; ++k)
        y(b, 0, i, k) += p.skip(0, 0, 0, k) * p.x(b, 0, i, k);
  return y;
}

}  // namespace

TEST_CASE("golden values") {
  // decaying_sum's state .5 + .5 i with weight 1 - i, of one channel.
  std::complex<double> const decay(.5, .5), rate = std::log(decay), gain = (decay - 1.0) / rate,
                                            weight = std::complex<double>(1, -1) / gain;
  extents4 const single{1, 1, 1, 1};
  problem const p{{{1, 1, 3, 1}, {1, 0, 2}},
                  owned<double>(single),
                  {single, {std::log(-rate.real())}},
                  {single, {rate.imag()}},
                  {{1, 2, 1, 1}, {1, 0}},
                  {{1, 2, 1, 1}, {weight.real(), weight.imag()}},
                  owned<double>(single),
                  owned<double>({1, 1, 3, 1}, 1)};
  // 2 Re((1 - i) s) for the states 1, .5 + .5 i, 2 + .5 i
  check_close(run<double>(p).y, {p.x.shape, {2, 2, 5}}, 1e-14);
}

TEST_CASE("dense oracle and differences") {
  for (index_t directions : {1, 2})
    for (auto const& lengths : {std::vector<index_t>{}, {7, 4}, {1, 0}}) {
      auto p = make_problem({2, 7, 3}, 2, directions);
      p.lengths = lengths;
      auto const r = run<double>(p);
      index_t const terms = directions * 2 * 7 * 3;  // states, rows, channels
      check_close(r.y, oracle(p), oracle_difference(terms + weight_roundings));
      auto const loss = [&] { return weighted_sum(oracle(p), p.dy); };
      check_gradient(loss, p.x, r.dx);
      check_gradient(loss, p.log_step, r.dlog_step);
      check_gradient(loss, p.log_decay, r.dlog_decay);
      check_gradient(loss, p.frequency, r.dfrequency);
      check_gradient(loss, p.b, r.db);
      check_gradient(loss, p.c, r.dc);
      check_gradient(loss, p.skip, r.dskip);
    }
}

TEST_CASE_TEMPLATE("any length, in float and bfloat16", T, float, bfloat16) {
  // States and decays are floats: results are rounded once.
  for (index_t length : {1, 2, 63, 200}) {
    auto p = make_problem({2, length, 5}, 6, 2);
    if (length > 2) p.lengths = {length / 2, length};
    check_rounded(run<T>(p), run<double>(p), 1, length + 4 * 6);
  }
}
