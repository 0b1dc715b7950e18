// SPDX-License-Identifier: Apache-2.0
// Gradients of multi-permutation: exact transpose, finite differences, gradient of the weights, and
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
                   ss::grad_mode mode, gradients<T>& g) {
  extents3 const e = p.x.extents();
  auto const op = m.op();
  tensor<std::uint16_t> perm(e);
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
  m.with_weights([&](auto w) {
    op.forward(exec, p.x.view(), w, g.y.view(), {perm.view()}, scratch.get(), {view_of(p.lengths)});
    op.backward(exec, p.dy.view(), p.x.view(), w, {perm.view()}, g.dx.view(),
                ss::tensor1<accumulator<T>>(g.dweights.data(), m.components), scratch.get(),
                {mode, view_of(p.lengths)});
  });
  CHECK(scratch.red_zones_intact());
}
template <class T>
gradients<T> gradients_of(multi_case<T> const& m, variant_problem<T> const& p,
                          any_exec const& exec = ss::exec::host{}) {
  gradients<T> g{tensor<T>(p.x.extents()), tensor<T>(p.x.extents()),
                 std::vector<accumulator<T>>(static_cast<std::size_t>(m.components), 77)};
  add_gradients(m, exec, p, ss::grad_mode::overwrite, g);
  return g;
}

template <class T>
variant_problem<T> tame_problem(extents3 e, std::uint64_t seed, std::vector<index_t> lengths = {}) {
  variant_problem<T> p;
  p.lengths = std::move(lengths);
  p.x = tame_tensor<T>(e, seed);
  p.dy = tame_tensor<T>(e, seed + 1);
  return p;
}

// Returns <a, b> for integers, without rounding.
template <class T>
std::int64_t product(tensor<T> const& a, tensor<T> const& b) {
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
    for_each_backend_once(p.number(), [&](any_exec const& exec) {
      auto const g = gradients_of(m, p, exec);
      CHECK(product(p.dy, g.y) == product(g.dx, p.x));
      // J is also linear in the weights, except for rows past the lengths, which are copied.
      std::int64_t by_weights = 0, padding = 0;
      for (std::size_t k = 0; k < 4; ++k)
        by_weights += static_cast<std::int64_t>(m.weights[k] * g.dweights[k]);
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        if (n >= p.rows(b))
          padding +=
              static_cast<std::int64_t>(decode(p.dy(b, n, c)).value * decode(p.x(b, n, c)).value);
      });
      CHECK(by_weights + padding == product(p.dy, g.y));
    });
  }
}

TEST_CASE("finite differences with respect to x and the weights") {
  extents3 const e{2, 13, 5};
  multi_case<double> m{3, {0.7, -1.3, 0.1}, zigzag};
  variant_problem<double> p = tame_problem<double>(e, 4);
  for_each_position(e, [&](index_t b, index_t n, index_t c) {  // values without near ties
    p.x(b, n, c) = static_cast<double>((n * 5 + c + b) % 13) - 6;
  });
  auto const g = gradients_of(m, p);
  auto const loss = [&] {
    auto const y = gradients_of(m, p).y;
    double sum = 0;
    for (std::size_t i = 0; i < y.elements().size(); ++i)
      sum += p.dy.elements()[i] * y.elements()[i];
    return sum;
  };
  double const h = 0.0625;
  auto const slope = [&](double& parameter) {
    double const before = parameter;
    parameter = before + h;
    double const above = loss();
    parameter = before - h;
    double const below = loss();
    parameter = before;
    return (above - below) / (2 * h);
  };
  for (std::size_t k = 0; k < 3; ++k) {
    double const d = slope(m.weights[k]) - g.dweights[k];
    CHECK(std::fabs(d) < 1e-10);
  }
  for (std::size_t i = 0; i < p.x.elements().size(); ++i) {
    double const d = slope(p.x.elements()[i]) - g.dx.elements()[i];
    CHECK(std::fabs(d) < 1e-10);
  }
}

TEST_CASE_TEMPLATE("gradient of the weights, compared with long double", T, float, double, float16,
                   bfloat16) {
  using A = accumulator<T>;
  for (extents3 e : {extents3{1, 1, 1}, extents3{3, 64, 34}, extents3{11, 20, 3}}) {
    multi_case<T> const m{3, {A(0.5), A(-2), A(1)}, irregular};
    auto const p = tame_problem<T>(e, 9, e.batch > 1 ? mixed_lengths(e) : std::vector<index_t>{});
    for_each_backend_once(p.number(), [&](any_exec const& exec) {
      auto const g = gradients_of(m, p, exec);
      std::vector<long double> sum(3), size(3);
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
              size[k] += std::fabs(term);
            }
          }
        }
      error_ratio ratio;
      auto const roundings = static_cast<long double>(e.length + e.batch * e.channels + 1);
      for (std::size_t k = 0; k < 3; ++k)
        ratio.see(static_cast<long double>(g.dweights[k]) - sum[k],
                  gamma_of(roundings, roundoff<double>()) * size[k] +
                      roundoff<A>() * std::fabs(sum[k]) * 1.0001L);
      CHECK(ratio.worst <= 1);
    });
  }
}

TEST_CASE_TEMPLATE("gradient of the weights: every policy, and an empty problem", T, float, double,
                   bfloat16) {
  multi_case<T> const m{3, {}, zigzag};
  for (extents3 e : variant_shapes()) {
    auto const p = tame_problem<T>(e, 3, mixed_lengths(e));
    auto const serial = gradients_of(m, p);
    for (unsigned threads = 2; threads <= 4; ++threads) {
      auto const g = gradients_of(m, p, ss::exec::host{threads});
      CHECK(same_bits(g.dweights, serial.dweights));
      CHECK(same_bits(g.dx.elements(), serial.dx.elements()));
    }
    for (std::uint64_t i = 0; i < 3; ++i)
      for_each_grid(p.number() + i, [&](any_exec const& exec) {
        auto const g = gradients_of(m, p, exec);
        CAPTURE(describe_exec(exec));
        if (sums_keep_their_order) CHECK(same_bits(g.dweights, serial.dweights));
        CHECK(same_bits(g.dx.elements(), serial.dx.elements()));
        CHECK(same_bits(g.y.elements(), serial.y.elements()));
      });
    test_executor backwards{test_executor::schedule::backwards};
    auto const g = gradients_of(m, p, any_exec(backwards, 3));
    CHECK(same_bits(g.dweights, serial.dweights));
    if (e.empty())
      for (auto d : serial.dweights) CHECK(d == 0);
  }
}

// Short columns fit in shared memory, long ones do not.
TEST_CASE("many short columns and few long ones match the host") {
  multi_case<float> const m{3, {0.5F, -2.0F, 0.25F}, irregular};
  for (extents3 e : {extents3{1, 6, 9000}, extents3{1, 60000, 2}}) {
    auto const p = tame_problem<float>(e, 11);
    auto const expected = gradients_of(m, p);
    for_each_grid(p.number(), [&](auto const& exec) {
      CAPTURE(describe_exec(exec));
      auto const g = gradients_of(m, p, exec);
      CHECK(same_bits(g.y.elements(), expected.y.elements()));
      CHECK(same_bits(g.dx.elements(), expected.dx.elements()));
      if (sums_keep_their_order) CHECK(same_bits(g.dweights, expected.dweights));
    });
  }
}

TEST_CASE("accumulating over parts of the batch gives the bits of one call") {
  extents3 const e{6, 21, 35};
  multi_case<double> const m{4, {0.3, -0.2, 0.9, 1.7}, irregular};
  auto const p = tame_problem<double>(e, 8, mixed_lengths(e));
  for_each_backend_once(p.number(), [&](any_exec const& exec) {
    auto const whole = gradients_of(m, p, exec);
    std::vector<double> dweights(4);
    for (index_t b = 0; b < e.batch; ++b) {
      variant_problem<double> const part{
          sample_of(p.x, b), sample_of(p.dy, b), {p.rows(b)}, {}, {}};
      gradients<double> g{tensor<double>(part.x.extents()), tensor<double>(part.x.extents()),
                          dweights};
      add_gradients(m, exec, part, ss::grad_mode::accumulate, g);
      dweights = g.dweights;
      CHECK(same_bits(g.dx.elements(), sample_of(whole.dx, b).elements()));
    }
    if (sums_keep_their_order) CHECK(same_bits(dweights, whole.dweights));
  });
}

TEST_CASE_TEMPLATE("accumulation", T, float, double, float16, bfloat16) {
  using A = accumulator<T>;
  extents3 const e{3, 12, 34};
  multi_case<T> const m{2, {A(1), A(-2)}, irregular};
  variant_problem<T> p;
  p.x = integer_tensor<T>(e, 3, 1);
  p.dy = integer_tensor<T>(e, 3, 2);
  p.lengths = {12, 0, 7};
  for_each_backend_once(p.number(), [&](any_exec const& exec) {
    auto const once = gradients_of(m, p, exec);
    gradients<T> more{tensor<T>(e), integer_tensor<T>(e, 9, 3), {A(10), A(-10)}};
    tensor<T> const before = more.dx;
    add_gradients(m, exec, p, ss::grad_mode::accumulate, more);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      auto const value = [&](tensor<T> const& t) { return decode(t(b, n, c)).value; };
      CHECK(value(more.dx) == value(before) + value(once.dx));
    });
    CHECK(more.dweights[0] == once.dweights[0] + 10);
    CHECK(more.dweights[1] == once.dweights[1] - 10);
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
