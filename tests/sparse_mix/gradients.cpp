// SPDX-License-Identifier: Apache-2.0
// Compares gradients of sparse_mix with dual numbers and finite differences. Links to the same row
// have separate gradients.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

constexpr residual_kind all_residuals[] = {residual_kind::per_factor, residual_kind::none,
                                           residual_kind::initial};

struct gradients {
  tensor<double> dx;
  std::vector<double> dw;
};
inline gradients compute_gradients(mix_problem<double> const& p, any_exec const& exec) {
  gradients grads{tensor<double>(p.e), std::vector<double>(p.w.size())};
  with_mix(p, ss::recompute, [&](auto const& op) {
    guarded_workspace scratch(op.template workspace_bytes<double>(exec, p.e, p.weight_extents()));
    op.backward(exec, p.dy.view(), p.x.view(),
                tensor_stack<double const>(p.w.data(), p.weight_extents()), ss::no_saved,
                grads.dx.view(), tensor_stack<double>(grads.dw.data(), p.weight_extents()),
                scratch.get(), {ss::grad_mode::overwrite, view_of(p.lengths)});
  });
  return grads;
}

// Returns <dy, y> of a sample, in any arithmetic.
template <class Math>
auto loss(mix_problem<double> const& p, index_t b, mix_values<Math> const& w,
          mix_values<Math> const& x) {
  mix_chain const chain = p.chain(b);
  auto const y = mix_states<Math>(chain, w, x).back();
  typename Math::scalar sum{};
  for (index_t i = 0; i < chain.rows; ++i)
    for (index_t c = 0; c < p.e.channels; ++c)
      sum = sum + typename Math::scalar{p.dy(b, i, c)} * y[chain.element_index(i, c)];
  return sum;
}

mix_problem<double> make_gradient_problem(residual_kind residual, std::uint64_t seed) {
  return normal_mix<double>({2, 9, 3}, 3, 4, residual, seed, {9, 6});
}

}  // namespace

TEST_CASE("gradients match dual numbers to 1e-13") {
  using math = mix_unrounded<mix_dual>;
  auto const to_dual = [](double v) { return mix_dual{v, 0}; };
  for (residual_kind residual : all_residuals) {
    auto const p = make_gradient_problem(residual, 31);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      gradients const grads = compute_gradients(p, exec);
      double max_error = 0;
      for (index_t b = 0; b < p.e.batch; ++b) {
        mix_chain const chain = p.chain(b);
        auto w = weights_of_sample<math>(p, p.w, b, to_dual);
        auto x = rows_of_sample<math>(p, p.x, b, to_dual);
        auto const differentiate = [&](mix_dual& variable) {
          variable.slope = 1;
          double const slope = loss<math>(p, b, w, x).slope;
          variable.slope = 0;
          return slope;
        };
        for (index_t i = 0; i < chain.rows; ++i) {
          for (index_t c = 0; c < p.e.channels; ++c)
            max_error = max_or_nan(
                max_error,
                std::fabs(grads.dx(b, i, c) - differentiate(x[chain.element_index(i, c)])));
          for (index_t m = 0; m < p.factors; ++m)
            for (index_t k = 0; k < p.links; ++k)
              max_error =
                  max_or_nan(max_error, std::fabs(grads.dw[p.weight_index(m, b, i, k)] -
                                                  differentiate(w[chain.weight_index(m, i, k)])));
        }
      }
      CHECK(max_error <= 1e-13);
    });
  }
}

// y is linear in x and affine in each single weight, so a central difference equals the derivative
// up to rounding.
TEST_CASE("gradients match finite differences") {
  for (residual_kind residual : all_residuals) {
    auto p = make_gradient_problem(residual, 57);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      gradients const grads = compute_gradients(p, exec);
      auto const compute_loss = [&] {
        tensor<double> y(p.e);
        with_mix(p, ss::recompute, [&](auto const& op) {
          guarded_workspace scratch(
              op.template workspace_bytes<double>(exec, p.e, p.weight_extents()));
          op.forward(exec, std::as_const(p.x).view(),
                     tensor_stack<double const>(p.w.data(), p.weight_extents()), y.view(),
                     ss::no_saved, scratch.get(), {view_of(p.lengths)});
        });
        double sum = 0;
        for (std::size_t i = 0; i < y.elements().size(); ++i)
          sum += p.dy.elements()[i] * y.elements()[i];
        return sum;
      };
      auto const finite_difference = [&](double& variable) {
        double const original = variable;
        variable = original + 0.5;
        double const above = compute_loss();
        variable = original - 0.5;
        double const below = compute_loss();
        variable = original;
        return above - below;
      };
      double max_error = 0;
      for (std::size_t i = 0; i < p.x.elements().size(); i += 2)
        max_error = max_or_nan(
            max_error, std::fabs(finite_difference(p.x.elements()[i]) - grads.dx.elements()[i]));
      for (std::size_t i = 0; i < p.w.size(); i += 5)
        max_error = max_or_nan(max_error, std::fabs(finite_difference(p.w[i]) - grads.dw[i]));
      // Sums of 54 products with magnitudes of at most a few thousand.
      CHECK(max_error < 1e-10);
    });
  }
}

TEST_CASE_TEMPLATE("links to the same row add up, and each has its own gradient", T, float,
                   float16) {
  // Links 0, 2 and 3 have the same row; in the last factor also 4 and 5.
  std::vector<index_t> const offsets = {2, 1, 9, -5, 3, 0, /**/ 2, 1, 9, -5, -14, 7};
  mix_problem<T> p = normal_mix<T>({1, 7, 6}, 2, 6, residual_kind::per_factor, 12);
  p.offsets = offsets;
  p.mode = ss::grad_mode::overwrite;
  compute_expected(p);
  for (index_t i = 0; i < 7; ++i) {
    auto const dw = [&](index_t m, index_t k) { return bits_of(p.dw[p.weight_index(m, 0, i, k)]); };
    for (index_t m : {0, 1}) {
      CHECK(dw(m, 0) == dw(m, 2));
      CHECK(dw(m, 0) == dw(m, 3));
    }
    CHECK(dw(0, 0) != dw(0, 1));
    CHECK(dw(0, 4) != dw(0, 5));
    CHECK(dw(1, 4) == dw(1, 5));
  }
  for_each_backend(p.backend_seed(),
                   [&](any_exec const& exec) { CHECK(check_mix(p, exec) == ""); });
}

// A 16-bit gradient is rounded once, also when it accumulates.
TEST_CASE_TEMPLATE("gradients accumulate with one rounding", T, float, double, float16, bfloat16) {
  for (residual_kind residual : all_residuals)
    for (index_t factors : {0, 1, 3}) {
      extents3 const e{2, 12, 33};
      auto const p =
          with_mode(normal_mix<T>(e, factors, 3, residual, 90, {12, 5}), ss::grad_mode::accumulate);
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CHECK(check_mix(p, exec) == "");
        CHECK(check_mix(with_mode(p, ss::grad_mode::overwrite), exec) == "");
      });
      // In padding rows, dx = dy and dw = 0.
      for (index_t c = 0; c < e.channels; ++c)
        CHECK(static_cast<double>(decode(p.dx(1, 7, c)).value) ==
              doctest::Approx(static_cast<double>(decode(p.dx_before(1, 7, c)).value +
                                                  decode(p.dy(1, 7, c)).value))
                  .epsilon(0.01));
      for (index_t m = 0; m < factors; ++m)
        for (index_t k = 0; k < 3; ++k)
          CHECK(
              same_bits(p.dw[p.weight_index(m, 1, 7, k)], p.dw_before[p.weight_index(m, 1, 7, k)]));
    }
}
