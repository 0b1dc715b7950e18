// SPDX-License-Identifier: Apache-2.0
// decaying_sum against a dense oracle in double, as a linear map against its adjoint, and against
// central differences.
#define SLICESORT_TEST_EVERY_BACKEND
#include "problem.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;
using direction = ss::decay_direction;

namespace {

// Results of a call with states.
template <class T>
struct call_results {
  tensor<T> y, dx;
  number_tensor<T> da, dw;
  number_tensor<typename decay_problem<T>::A> last, dinitial;
};
template <class T>
call_results<T> run(decay_problem<T> const& p, any_exec const& exec) {
  call_results<T> r{p.y, p.dx, p.da, p.dw, p.last, p.dinitial};
  guarded_workspace memory(p.op().workspace_bytes(exec, p.x.view()));
  ss::decay_inputs<T> const in{p.a.view(), p.w.view()};
  p.op().forward(exec, p.x.view(), in, r.y.view(), {p.initial.view(), r.last.view()}, memory.get(),
                 {view_of(p.lengths)});
  p.op().backward(exec, p.dy.view(), p.x.view(), in, {r.dx.view(), r.da.view(), r.dw.view()},
                  {p.initial.view(), p.dlast.view(), r.dinitial.view()}, memory.get(),
                  {view_of(p.lengths)});
  return r;
}

// A sum, and the sum of the magnitudes of its terms.
struct bounded_sum {
  double value = 0, magnitude = 0;

  void add(std::complex<double> weight, std::complex<double> term, bool is_complex) {
    value += (is_complex ? 2 : 1) * (weight * term).real();
    magnitude += 2 * std::abs(weight) * std::abs(term);
  }
};

// y[n] as a sum over all pairs of rows, with every power of a as a product of its own.
template <class T>
bounded_sum dense_output(decay_problem<T> const& p, index_t b, index_t n, index_t c) {
  bool const is_complex = p.variant.is_complex;
  auto const number = [&](auto const& t, index_t j, index_t row) {
    return std::complex<double>(static_cast<double>(t(b, j, row, c)),
                                is_complex ? static_cast<double>(t(b, j + 1, row, c)) : 0);
  };
  index_t const numbers = p.op().numbers(), parts = is_complex ? 2 : 1, rows = p.rows(b);
  bounded_sum sum;
  for (index_t j = 0; j < numbers; j += parts) {
    bool const reversed = p.variant.direction == direction::reverse ||
                          (p.variant.direction == direction::both && j >= numbers / 2);
    index_t const step = reversed ? -1 : 1, before_first = reversed ? rows : -1;
    std::complex<double> const w = number(p.w, j, 0);
    for (index_t source = before_first; source != n + step; source += step) {
      std::complex<double> term =
          source == before_first ? number(p.initial, j, 0) : static_cast<double>(p.x(b, source, c));
      for (index_t row = source + step; row != n + step; row += step) term *= number(p.a, j, row);
      sum.add(w, term, is_complex);
    }
  }
  return sum;
}

double dot(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<decay_variant> variants() {
  std::vector<decay_variant> list;
  for (bool is_complex : {false, true})
    for (bool per_row : {false, true})
      for (direction d : {direction::forward, direction::reverse, direction::both})
        list.push_back({2, is_complex, d, per_row});
  return list;
}

// All rows are valid, so that products over tensors need no mask.
template <class F>
void for_each_problem(F const& f) {
  std::uint64_t seed = 0;
  for (decay_variant variant : variants()) {
    CAPTURE(variant.is_complex);
    CAPTURE(variant.per_row);
    CAPTURE(variant.direction);
    auto const p = make_decay_problem<double>({2, 35, 3}, variant, ++seed);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) { f(p, exec); });
  }
}

}  // namespace

TEST_CASE_TEMPLATE("y is the dense sum", T, float, double) {
  std::uint64_t seed = 0;
  double const tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
  for (decay_variant variant : variants()) {
    extents3 const e{3, 45, 5};
    auto const p = make_decay_problem<T>(e, variant, ++seed, mixed_lengths(e));
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      auto const results = run(p, exec);
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        if (n >= p.rows(b)) return;
        bounded_sum const expected = dense_output(p, b, n, c);
        CHECK(std::fabs(static_cast<double>(results.y(b, n, c)) - expected.value) <=
              tolerance * expected.magnitude);
      });
    });
  }
}

TEST_CASE("dx and the gradient of the initial state are the adjoint of y and the last state") {
  for_each_problem([](decay_problem<double> const& p, any_exec const& exec) {
    auto const r = run(p, exec);
    double const forward =
                     dot(r.y.elements(), p.dy.elements()) + dot(r.last.elements, p.dlast.elements),
                 backward = dot(p.x.elements(), r.dx.elements()) +
                            dot(p.initial.elements, r.dinitial.elements);
    CHECK(std::fabs(forward - backward) <= 1e-12);
    // y is linear in w, and the last state does not depend on it.
    CHECK(std::fabs(dot(p.w.elements, r.dw.elements) - dot(r.y.elements(), p.dy.elements())) <=
          1e-12);
  });
}

TEST_CASE("da is the slope of central differences") {
  for_each_problem([](decay_problem<double> const& p, any_exec const& exec) {
    auto const r = run(p, exec);
    constexpr double h = 1e-5;
    for (std::size_t i = 0; i < p.a.elements.size(); i += 7) {
      auto const loss = [&](double a) {
        decay_problem<double> moved = p;
        moved.a.elements[i] = a;
        auto const results = run(moved, exec);
        return dot(results.y.elements(), p.dy.elements()) +
               dot(results.last.elements, p.dlast.elements);
      };
      double const a = p.a.elements[i], slope = (loss(a + h) - loss(a - h)) / (2 * h);
      CHECK(std::fabs(slope - r.da.elements[i]) <= 1e-6 * (1 + std::fabs(slope)));
    }
  });
}
