// SPDX-License-Identifier: Apache-2.0
// Tests gradients of multi_permutation: exact transpose, finite differences, weight gradients, and
// accumulation.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

// With -ffast-math, backends may sum in different orders.
#if defined(__FAST_MATH__)
constexpr bool sums_keep_their_order = false;
#else
constexpr bool sums_keep_their_order = true;
#endif

template <class T>
struct gradients {
  tensor<T> y, dx;
  std::vector<accumulator<T>> dweights;
};

template <class T>
void add_gradients(multi_case<T> const& m, any_exec const& exec, variant_problem<T> const& p,
                   ss::grad_mode mode, gradients<T>& grads) {
  extents3 const e = p.x.extents();
  auto const op = m.op();
  tensor<std::uint16_t> perm(e);
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
  m.with_weights([&](auto w) {
    op.forward(exec, p.x.view(), w, grads.y.view(), {perm.view()}, scratch.get(),
               {view_of(p.lengths)});
    op.backward(exec, p.dy.view(), p.x.view(), w, {perm.view()}, grads.dx.view(),
                ss::tensor1<accumulator<T>>(grads.dweights.data(), m.components), scratch.get(),
                {mode, view_of(p.lengths)});
  });
  CHECK(scratch.red_zones_intact());
}
template <class T>
gradients<T> compute_gradients(multi_case<T> const& m, variant_problem<T> const& p,
                               any_exec const& exec = ss::exec::host{}) {
  gradients<T> grads{tensor<T>(p.x.extents()), tensor<T>(p.x.extents()),
                     std::vector<accumulator<T>>(static_cast<std::size_t>(m.components), 77)};
  add_gradients(m, exec, p, ss::grad_mode::overwrite, grads);
  return grads;
}

template <class T>
variant_problem<T> make_problem(extents3 e, std::uint64_t seed, std::vector<index_t> lengths = {}) {
  variant_problem<T> p;
  p.lengths = std::move(lengths);
  p.x = tame_tensor<T>(e, seed);
  p.dy = tame_tensor<T>(e, seed + 1);
  return p;
}

// Returns <a, b> of integers, without rounding.
template <class T>
std::int64_t inner_product(tensor<T> const& a, tensor<T> const& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.elements().size(); ++i)
    sum += static_cast<std::int64_t>(decode(a.elements()[i]).value * decode(b.elements()[i]).value);
  return sum;
}

}  // namespace

TEST_CASE_TEMPLATE("backward is the exact transpose: <dy, J v> = <J' dy, v>", T, float, double,
                   float16) {
  using A = accumulator<T>;
  multi_case<T> const m{4, {A(2), A(-3), A(1), A(5)}, irregular};
  for (extents3 e : {extents3{2, 50, 37}, extents3{7, 9, 3}}) {
    variant_problem<T> p;
    p.x = integer_tensor<T>(e, 9, 1);
    p.dy = integer_tensor<T>(e, 9, 2);
    p.lengths = mixed_lengths(e);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      auto const grads = compute_gradients(m, p, exec);
      CHECK(inner_product(p.dy, grads.y) == inner_product(grads.dx, p.x));
      // J is also linear in the weights, except for rows past the lengths, which are copied.
      std::int64_t weight_product = 0, padding_product = 0;
      for (std::size_t k = 0; k < 4; ++k)
        weight_product += static_cast<std::int64_t>(m.weights[k] * grads.dweights[k]);
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        if (n >= p.rows(b))
          padding_product +=
              static_cast<std::int64_t>(decode(p.dy(b, n, c)).value * decode(p.x(b, n, c)).value);
      });
      CHECK(weight_product + padding_product == inner_product(p.dy, grads.y));
    });
  }
}

TEST_CASE("gradients of x and the weights match finite differences") {
  extents3 const e{2, 13, 5};
  multi_case<double> m{3, {0.7, -1.3, 0.1}, zigzag};
  variant_problem<double> p = make_problem<double>(e, 4);
  for_each_position(e, [&](index_t b, index_t n, index_t c) {  // values without near ties
    p.x(b, n, c) = static_cast<double>((n * 5 + c + b) % 13) - 6;
  });
  auto const grads = compute_gradients(m, p);
  auto const loss = [&] {
    auto const y = compute_gradients(m, p).y;
    double sum = 0;
    for (std::size_t i = 0; i < y.elements().size(); ++i)
      sum += p.dy.elements()[i] * y.elements()[i];
    return sum;
  };
  double const step = 0.0625;
  auto const finite_difference = [&](double& parameter) {
    double const original = parameter;
    parameter = original + step;
    double const above = loss();
    parameter = original - step;
    double const below = loss();
    parameter = original;
    return (above - below) / (2 * step);
  };
  for (std::size_t k = 0; k < 3; ++k) {
    double const error = finite_difference(m.weights[k]) - grads.dweights[k];
    CHECK(std::fabs(error) < 1e-10);
  }
  for (std::size_t i = 0; i < p.x.elements().size(); ++i) {
    double const error = finite_difference(p.x.elements()[i]) - grads.dx.elements()[i];
    CHECK(std::fabs(error) < 1e-10);
  }
}

TEST_CASE_TEMPLATE("gradient of the weights matches long double", T, float, double, float16,
                   bfloat16) {
  using A = accumulator<T>;
  for (extents3 e : {extents3{1, 1, 1}, extents3{3, 64, 34}, extents3{11, 20, 3}}) {
    multi_case<T> const m{3, {A(0.5), A(-2), A(1)}, irregular};
    auto const p = make_problem<T>(e, 9, e.batch > 1 ? mixed_lengths(e) : std::vector<index_t>{});
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      auto const grads = compute_gradients(m, p, exec);
      std::vector<long double> sum(3), magnitude(3);
      for (index_t b = 0; b < e.batch; ++b)
        for (index_t c = 0; c < e.channels; ++c) {
          auto power = p.x.column(b, c, p.rows(b));
          auto const matrix =
              sorting_matrix(power, pattern_order{m.order}.ascending(c, e.channels));
          for (std::size_t k = 0; k < 3; ++k) {
            power = matrix.times(power);
            for (std::size_t n = 0; n < power.size(); ++n) {
              long double const term =
                  decode(p.dy(b, static_cast<index_t>(n), c)).value * decode(power[n]).value;
              sum[k] += term;
              magnitude[k] += std::fabs(term);
            }
          }
        }
      error_ratio ratio;
      auto const roundings = static_cast<long double>(e.length + e.batch * e.channels + 1);
      for (std::size_t k = 0; k < 3; ++k)
        ratio.add(static_cast<long double>(grads.dweights[k]) - sum[k],
                  rounding_bound(roundings, unit_roundoff<double>()) * magnitude[k] +
                      unit_roundoff<A>() * std::fabs(sum[k]) * 1.0001L);
      CHECK(ratio.max <= 1);
    });
  }
}

TEST_CASE_TEMPLATE(
    "gradient of the weights: same bits for every policy, and zero for an empty tensor", T, float,
    double, bfloat16) {
  multi_case<T> const m{3, {}, zigzag};
  for (extents3 e : variant_shapes()) {
    auto const p = make_problem<T>(e, 3, mixed_lengths(e));
    auto const serial = compute_gradients(m, p);
    for (unsigned threads = 2; threads <= 4; ++threads) {
      auto const grads = compute_gradients(m, p, ss::exec::host{threads});
      CHECK(same_bits(grads.dweights, serial.dweights));
      CHECK(same_bits(grads.dx.elements(), serial.dx.elements()));
    }
    for (std::uint64_t i = 0; i < 3; ++i)
      for_each_grid(p.backend_seed() + i, [&](any_exec const& exec) {
        auto const grads = compute_gradients(m, p, exec);
        CAPTURE(describe_exec(exec));
        if (sums_keep_their_order) CHECK(same_bits(grads.dweights, serial.dweights));
        CHECK(same_bits(grads.dx.elements(), serial.dx.elements()));
        CHECK(same_bits(grads.y.elements(), serial.y.elements()));
      });
    test_executor backwards{test_executor::schedule::backwards};
    auto const grads = compute_gradients(m, p, any_exec(backwards, 3));
    CHECK(same_bits(grads.dweights, serial.dweights));
    if (e.empty())
      for (auto gradient : serial.dweights) CHECK(gradient == 0);
  }
}

// Short columns fit in shared memory, long ones do not.
TEST_CASE("many short columns and few long ones match the host") {
  multi_case<float> const m{3, {0.5F, -2.0F, 0.25F}, irregular};
  for (extents3 e : {extents3{1, 6, 9000}, extents3{1, 60000, 2}}) {
    auto const p = make_problem<float>(e, 11);
    auto const expected = compute_gradients(m, p);
    for_each_grid(p.backend_seed(), [&](auto const& exec) {
      CAPTURE(describe_exec(exec));
      auto const grads = compute_gradients(m, p, exec);
      CHECK(same_bits(grads.y.elements(), expected.y.elements()));
      CHECK(same_bits(grads.dx.elements(), expected.dx.elements()));
      if (sums_keep_their_order) CHECK(same_bits(grads.dweights, expected.dweights));
    });
  }
}

TEST_CASE("accumulating sample by sample gives the bits of one call") {
  extents3 const e{6, 21, 35};
  multi_case<double> const m{4, {0.3, -0.2, 0.9, 1.7}, irregular};
  auto const p = make_problem<double>(e, 8, mixed_lengths(e));
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    auto const batch_grads = compute_gradients(m, p, exec);
    std::vector<double> dweights(4);
    for (index_t b = 0; b < e.batch; ++b) {
      variant_problem<double> const sample{
          sample_of(p.x, b), sample_of(p.dy, b), {p.rows(b)}, {}, {}};
      gradients<double> grads{tensor<double>(sample.x.extents()),
                              tensor<double>(sample.x.extents()), dweights};
      add_gradients(m, exec, sample, ss::grad_mode::accumulate, grads);
      dweights = grads.dweights;
      CHECK(same_bits(grads.dx.elements(), sample_of(batch_grads.dx, b).elements()));
    }
    if (sums_keep_their_order) CHECK(same_bits(dweights, batch_grads.dweights));
  });
}

TEST_CASE_TEMPLATE("accumulated gradients add to the previous values", T, float, double, float16,
                   bfloat16) {
  using A = accumulator<T>;
  extents3 const e{3, 12, 34};
  multi_case<T> const m{2, {A(1), A(-2)}, irregular};
  variant_problem<T> p;
  p.x = integer_tensor<T>(e, 3, 1);
  p.dy = integer_tensor<T>(e, 3, 2);
  p.lengths = {12, 0, 7};
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    auto const once = compute_gradients(m, p, exec);
    gradients<T> accumulated{tensor<T>(e), integer_tensor<T>(e, 9, 3), {A(10), A(-10)}};
    tensor<T> const previous_dx = accumulated.dx;
    add_gradients(m, exec, p, ss::grad_mode::accumulate, accumulated);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      auto const value = [&](tensor<T> const& t) { return decode(t(b, n, c)).value; };
      CHECK(value(accumulated.dx) == value(previous_dx) + value(once.dx));
    });
    CHECK(accumulated.dweights[0] == once.dweights[0] + 10);
    CHECK(accumulated.dweights[1] == once.dweights[1] - 10);
  });
}

TEST_CASE("16-bit gradients are rounded once, also when accumulated") {
  // 1 + 7/256 lies between two bfloat16. If it were rounded first, a gradient just below 7/256
  // would become 7/256.
  extents3 const e{1, 1, 1};
  tensor<bfloat16> dy(e), dx(e);
  tensor<std::uint16_t> perm(e);
  dy(0, 0, 0) = bfloat16(7.0f / 256);
  ss::multi_permutation<pattern_order> const op{1};
  float const weight = 1 - 0x1p-12f;
  REQUIRE(same_bits(bfloat16(weight * 7.0f / 256), dy(0, 0, 0)));
  for_each_backend_once(1, [&](any_exec const& exec) {
    guarded_workspace scratch(op.workspace_bytes<bfloat16>(exec, e));
    dx(0, 0, 0) = bfloat16(1);
    op.backward(exec, dy.view(), ss::tensor1<float const>(&weight, 1), {perm.view()}, dx.view(),
                scratch.get(), ss::grad_mode::accumulate);
    CHECK(same_bits(dx(0, 0, 0), bfloat16(1 + 6.0f / 256)));
  });
}
