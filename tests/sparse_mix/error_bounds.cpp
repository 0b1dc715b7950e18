// SPDX-License-Identifier: Apache-2.0
// Compares sparse_mix with long double within a proven error bound and, for integers, with the
// product of dense factor matrices.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

constexpr residual_kind all_residuals[] = {residual_kind::per_factor, residual_kind::none,
                                           residual_kind::initial};

struct error_ratios {
  long double y = 0, dx = 0, dw = 0;
};

// Largest ratios of an error to its bound.
template <class T>
error_ratios measure_error_ratios(mix_problem<T> const& p, any_exec const& exec) {
  using math = mix_bounded<T>;
  tensor<T> y(p.e), dx(p.e);
  std::vector<T> dw(p.w.size());
  tensor_stack<T const> const weights(p.w.data(), p.weight_extents());
  with_mix(p, ss::recompute, [&](auto const& op) {
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, p.e, p.weight_extents()));
    op.forward(exec, p.x.view(), weights, y.view(), ss::no_saved, scratch.get(),
               {view_of(p.lengths)});
    op.backward(exec, p.dy.view(), p.x.view(), weights, ss::no_saved, dx.view(),
                tensor_stack<T>(dw.data(), p.weight_extents()), scratch.get(),
                {ss::grad_mode::overwrite, view_of(p.lengths)});
  });
  error_ratios max_ratios;
  auto const compare = [](long double& ratio, T actual, typename math::scalar expected) {
    long double const error = std::fabs(as_double(actual) - expected.value);
    if (error != 0) ratio = max_or_nan(ratio, error / expected.error);
  };
  auto const without_error = [](T v) { return typename math::scalar{decode(v).value, 0, 0, 0}; };
  for (index_t b = 0; b < p.e.batch; ++b) {
    mix_chain const chain = p.chain(b);
    auto const w = weights_of_sample<math>(p, p.w, b, without_error);
    auto const states = mix_states<math>(chain, w, rows_of_sample<math>(p, p.x, b, without_error));
    auto const grads =
        mix_gradients<math>(chain, w, states, rows_of_sample<math>(p, p.dy, b, without_error),
                            mix_values<math>(w.size()));
    for (index_t i = 0; i < chain.rows; ++i) {
      for (index_t c = 0; c < p.e.channels; ++c) {
        compare(max_ratios.y, y(b, i, c), states.back()[chain.element_index(i, c)]);
        compare(max_ratios.dx, dx(b, i, c), math::store(grads.dx[chain.element_index(i, c)]));
      }
      for (index_t m = 0; m < p.factors; ++m)
        for (index_t k = 0; k < p.links; ++k)
          compare(max_ratios.dw, dw[p.weight_index(m, b, i, k)],
                  math::store(grads.dw[chain.weight_index(m, i, k)]));
    }
  }
  return max_ratios;
}

using matrix = std::vector<std::vector<long long>>;

matrix identity(std::size_t n) {
  matrix unit(n, std::vector<long long>(n));
  for (std::size_t i = 0; i < n; ++i) unit[i][i] = 1;
  return unit;
}
matrix product(matrix const& a, matrix const& b) {
  std::size_t const n = a.size();
  matrix c(n, std::vector<long long>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}
matrix sum(matrix a, matrix const& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j) a[i][j] += b[i][j];
  return a;
}

// Returns the chain of a sample as one matrix, the product of its factors.
template <class T>
matrix chain_matrix(mix_problem<T> const& p, index_t b) {
  auto const n = static_cast<std::size_t>(p.rows(b));
  matrix chain_product = identity(n);
  for (index_t m = 0; m < p.factors; ++m) {
    matrix w(n, std::vector<long long>(n));
    for (index_t i = 0; i < p.rows(b); ++i)
      for (index_t k = 0; k < p.links; ++k) {
        // Uses the definition, independently of the bitwise oracle.
        index_t j = i + p.offsets[static_cast<std::size_t>(m * p.links + k)];
        while (j < 0) j += p.rows(b);
        while (j >= p.rows(b)) j -= p.rows(b);
        w[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] +=
            static_cast<long long>(decode(p.w[p.weight_index(m, b, i, k)]).value);
      }
    matrix const mixed = product(w, chain_product);
    chain_product = p.residual == residual_kind::none      ? mixed
                    : p.residual == residual_kind::initial ? sum(mixed, identity(n))
                                                           : sum(mixed, chain_product);
  }
  return chain_product;
}

// Returns a problem with small integer values and offsets near the length.
mix_problem<double> integer_mix(extents3 e, index_t factors, index_t links, residual_kind residual,
                                std::uint64_t seed) {
  auto p = normal_mix<double>(e, factors, links, residual, seed, random_lengths(e, seed));
  p.shared_weights = false;
  random_stream random(seed);
  auto const small = [&] { return static_cast<double>(random.below(7)) - 3; };
  for (double& v : p.x.elements()) v = small();
  for (double& v : p.dy.elements()) v = small();
  for (double& v : p.w) v = small();
  for (index_t& o : p.offsets)
    o = static_cast<index_t>(random.below(static_cast<std::uint64_t>(3 * e.length))) - e.length;
  p.mode = ss::grad_mode::overwrite;
  compute_expected(p);
  return p;
}

}  // namespace

TEST_CASE_TEMPLATE("errors stay within their bounds", T, float, double, float16, bfloat16) {
  error_ratios max_ratios, long_chains;
  auto const update_max = [](error_ratios& total, error_ratios const& ratios) {
    total = {std::max(total.y, ratios.y), std::max(total.dx, ratios.dx),
             std::max(total.dw, ratios.dw)};
  };
  auto const format = [](error_ratios const& s) {
    return std::to_string(s.y) + ", " + std::to_string(s.dx) + " and " + std::to_string(s.dw);
  };
  std::uint64_t seed = 7;
  for (residual_kind residual : all_residuals)
    for (index_t factors : {1, 3, 5})
      for (index_t links : {1, 3, 11}) {
        auto const p = random_mix<T>({3, 25, 90}, factors, links, residual, ++seed);
        for_each_backend_once(seed, [&](any_exec const& exec) {
          CAPTURE(p.describe());
          CAPTURE(describe_exec(exec));
          auto const ratios = measure_error_ratios(p, exec);
          CHECK(ratios.y <= 1);
          CHECK(ratios.dx <= 1);
          CHECK(ratios.dw <= 1);
          update_max(max_ratios, ratios);
          if (factors == 5 && links == 11) update_max(long_chains, ratios);
        });
      }
  // A single product has one rounding, whose error may reach the bound.
  MESSAGE(type_name<T>() << ": errors of y, dx and dw take up " << format(max_ratios)
                         << " of their bounds; in 5 factors of 11 links " << format(long_chains));
}

TEST_CASE("forward equals the product of the factor matrices, backward its transpose") {
  std::uint64_t seed = 1;
  for (index_t n : {1, 2, 3, 5, 8, 17, 64})
    for (residual_kind residual : all_residuals)
      for (index_t factors : {1, 2, 4}) {
        ++seed;
        auto const p =
            integer_mix({2, n, 3}, factors, static_cast<index_t>(1 + seed % 6), residual, seed);
        for_each_backend_once(p.backend_seed(),
                              [&](any_exec const& exec) { CHECK(check_mix(p, exec) == ""); });
        for (index_t b = 0; b < 2; ++b) {
          if (p.rows(b) == 0) continue;
          matrix const a = chain_matrix(p, b);
          for (index_t c = 0; c < 3; ++c)
            for (std::size_t i = 0; i < a.size(); ++i) {
              double y = 0, dx = 0;
              for (std::size_t j = 0; j < a.size(); ++j) {
                y += static_cast<double>(a[i][j]) * p.x(b, static_cast<index_t>(j), c);
                dx += static_cast<double>(a[j][i]) * p.dy(b, static_cast<index_t>(j), c);
              }
              CHECK(p.y(b, static_cast<index_t>(i), c) == y);
              CHECK(p.dx(b, static_cast<index_t>(i), c) == dx);
            }
        }
      }
}

TEST_CASE(
    "backward is the exact adjoint: <dy, A x> = <A' dy, x>, also with respect to the weights") {
  std::uint64_t seed = 50;
  for (residual_kind residual : all_residuals) {
    auto const p = integer_mix({3, 23, 37}, 3, 5, residual, ++seed);
    for_each_backend_once(p.backend_seed(),
                          [&](any_exec const& exec) { CHECK(check_mix(p, exec) == ""); });
    double forward_product = 0, backward_product = 0, identity_product = 0;
    for (std::size_t i = 0; i < p.x.elements().size(); ++i) {
      forward_product += p.dy.elements()[i] * p.y.elements()[i];
      backward_product += p.dx.elements()[i] * p.x.elements()[i];
      identity_product += p.dy.elements()[i] * p.x.elements()[i];
    }
    CHECK(forward_product == backward_product);
    CHECK(forward_product != identity_product);
    // y is affine in the weights of one factor, so a finite step along the gradient is exact.
    for (index_t m = 0; m < p.factors; ++m) {
      mix_problem<double> stepped = p;
      random_stream random(seed + 9);
      double predicted = 0, change = 0;
      for (index_t b = 0; b < 3; ++b)
        for (index_t i = 0; i < p.rows(b); ++i)
          for (index_t k = 0; k < p.links; ++k) {
            double const step = static_cast<double>(random.below(5)) - 2;
            stepped.w[p.weight_index(m, b, i, k)] += step;
            predicted += step * p.dw[p.weight_index(m, b, i, k)];
          }
      compute_expected(stepped);
      for (std::size_t i = 0; i < p.x.elements().size(); ++i)
        change += p.dy.elements()[i] * (stepped.y.elements()[i] - p.y.elements()[i]);
      CHECK(change == predicted);
      CHECK(change != 0);
    }
  }
}
