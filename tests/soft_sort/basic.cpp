// SPDX-License-Identifier: Apache-2.0
// Tests of soft_sort and soft_rank against the min-max formula of isotonic regression, central
// differences, and values that torchsort publishes.
#define SLICESORT_TEST_EVERY_BACKEND
#include "support/backends.hpp"
#include "support/error_message.hpp"
#include "support/numbers.hpp"
#include "support/pattern_order.hpp"
#include "support/variants.hpp"

#include <slicesort/slicing_sort.hpp>
#include <slicesort/soft_sort.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

using namespace support;

namespace {

using column = std::vector<double>;

// The operator and its policies, without types.
struct form {
  bool ranks, entropic;
  double strength;
};

// Calls f(op) with the operator of a form.
template <class F>
void with_operator(form const& kind, pattern_order order, F const& f) {
  using ss::regularization::entropic;
  using ss::regularization::l2;
  double const strength = kind.strength;
  if (kind.ranks && kind.entropic)
    return f(ss::soft_rank<entropic, pattern_order>(strength, {}, order));
  if (kind.ranks) return f(ss::soft_rank<l2, pattern_order>(strength, {}, order));
  if (kind.entropic) return f(ss::soft_sort<entropic, pattern_order>(strength, {}, order));
  f(ss::soft_sort<l2, pattern_order>(strength, {}, order));
}

double log_sum_exp(column const& v, std::size_t first, std::size_t last) {
  double const maximum = *std::max_element(v.begin() + static_cast<std::ptrdiff_t>(first),
                                           v.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  double sum = 0;
  for (std::size_t i = first; i <= last; ++i) sum += std::exp(v[i] - maximum);
  return maximum + std::log(sum);
}
double mean(column const& v, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t i = first; i <= last; ++i) sum += v[i] - v[first];
  return v[first] + sum / static_cast<double>(last - first + 1);
}

// Projection P(z, w) of Blondel et al. for decreasing z and w: z_i - v_i, where v decreases. By the
// min-max formula, v_i is the minimum over a <= i of the maximum over b >= i of v on [a, b].
column projection(column const& z, column const& w, bool entropic) {
  std::size_t const n = z.size();
  auto const average = entropic ? log_sum_exp : mean;
  std::vector<column> v(n, column(n));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a; b < n; ++b) v[a][b] = average(z, a, b) - average(w, a, b);
  column y(n);
  for (std::size_t i = 0; i < n; ++i) {
    double minimum = 1e300;
    for (std::size_t a = 0; a <= i; ++a) {
      double maximum = -1e300;
      for (std::size_t b = i; b < n; ++b) maximum = std::max(maximum, v[a][b]);
      minimum = std::min(minimum, maximum);
    }
    y[i] = z[i] - minimum;
  }
  return y;
}

// Soft sort or soft ranks of one column.
column expected_column(column const& x, form const& kind, bool ascending) {
  std::size_t const n = x.size();
  double const sign = ascending != kind.ranks ? -1 : 1;
  std::vector<std::size_t> rows(n);
  for (std::size_t i = 0; i < n; ++i) rows[i] = i;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return sign * x[a] > sign * x[b]; });
  column s, w, y(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const rank = static_cast<double>(n - i);
    s.push_back(sign * x[rows[i]]);
    w.push_back(rank);
  }
  if (kind.ranks) {
    for (std::size_t i = 0; i < n; ++i) {
      s[i] /= kind.strength;
      if (kind.entropic) w[i] = std::log(w[i]);
    }
    column const result = projection(s, w, kind.entropic);
    for (std::size_t i = 0; i < n; ++i)
      y[rows[i]] = kind.entropic ? std::exp(result[i]) : result[i];
  } else {
    for (std::size_t i = 0; i < n; ++i) w[i] /= kind.strength;
    column const result = projection(w, s, kind.entropic);
    for (std::size_t i = 0; i < n; ++i) y[i] = sign * result[i];
  }
  return y;
}

// Column of numbers with ties, a whole number of eighths.
template <class T>
tensor<T> tied_tensor(extents3 e, std::uint64_t seed) {
  tensor<T> t = integer_tensor<T>(e, 24, seed);
  for (T& element : t.elements())
    element = from_double<T>(static_cast<double>(decode(element).value) / 8);
  return t;
}

template <class T>
double value_of(T element) {
  return static_cast<double>(decode(element).value);
}

// Returns the function that check_every_way calls. It keeps a copy of x, which y may replace.
template <class Index, class T>
auto make_runner(form kind, pattern_order order) {
  return [=](any_exec const& exec, auto x, auto y, auto dy, auto dx, auto lengths) {
    extents3 const e = x.extents();
    tensor<T> input(e);
    for_each_position(e, [&](index_t b, index_t n, index_t c) { input(b, n, c) = x(b, n, c); });
    tensor<Index> perm(e), pools(e);
    with_operator(kind, order, [&](auto const& op) {
      std::vector<unsigned char> scratch(op.template workspace_bytes<T>(exec, e));
      op.forward(exec, x, y, {perm.view(), pools.view()}, scratch, {lengths});
      op.backward(exec, dy, input.view(), {perm.view(), pools.view()}, dx, scratch,
                  {ss::grad_mode::overwrite, lengths});
    });
  };
}

// A problem whose expected bits are those of one thread on the host.
template <class T>
variant_problem<T> make_problem(extents3 e, form const& kind, pattern_order order,
                                std::uint64_t seed, std::vector<index_t> lengths) {
  variant_problem<T> p;
  p.lengths = std::move(lengths);
  p.x = tied_tensor<T>(e, seed);
  p.dy = tied_tensor<T>(e, seed + 1);
  p.y = tensor<T>(e);
  p.dx = tensor<T>(e);
  make_runner<std::uint32_t, T>(kind, order)(ss::exec::host{1, ss::isa::portable}, p.x.view(),
                                             p.y.view(), p.dy.view(), p.dx.view(),
                                             view_of(p.lengths));
  return p;
}

// Compares y with the formula, up to one rounding to T, whose relative error is at most `unit`, and
// the rounding errors of double in both.
template <class T>
void check_values(variant_problem<T> const& p, form const& kind, pattern_order order) {
  extents3 const e = p.x.extents();
  double const unit = std::ldexp(1.0, -format_of<T>().fraction_bits - 1);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      column x;
      for (index_t n = 0; n < p.rows(b); ++n) x.push_back(value_of(p.x(b, n, c)));
      column const expected = expected_column(x, kind, order.ascending(c, e.channels));
      // Values are at most 3 and weights at most n / strength. Both are summed n times.
      double const n = static_cast<double>(x.size()),
                   slack = 4 * n * 0x1p-53 * (3 + n) * (1 + 1 / std::min(kind.strength, 1.0));
      for (index_t i = 0; i < e.length; ++i) {
        double const actual = value_of(p.y(b, i, c));
        if (i >= p.rows(b))
          CHECK(actual == (kind.ranks ? 0 : value_of(p.x(b, i, c))));
        else
          CHECK(std::abs(actual - expected[static_cast<std::size_t>(i)]) <=
                1.01 * unit * std::abs(expected[static_cast<std::size_t>(i)]) + slack);
      }
    }
}

constexpr form forms[] = {{false, false, 0.25}, {false, false, 3}, {false, true, 0.5},
                          {true, false, 0.25},  {true, false, 3},  {true, true, 0.5}};

}  // namespace

TEST_CASE("values that torchsort publishes") {
  tensor<float> x({1, 9, 1}), y({1, 9, 1});
  x.elements() = {8, 0, 5, 3, 2, 1, 6, 7, 9};
  for_each_backend_once(1, [&](any_exec const& exec) {
    auto const check = [&](form const& kind, std::vector<double> const& expected) {
      with_operator(kind, {}, [&](auto const& op) {
        std::vector<unsigned char> memory(op.template workspace_bytes<float>(exec, x.extents()));
        op.forward(exec, x.view(), y.view(), ss::no_saved, memory);
      });
      for (std::size_t i = 0; i < 9; ++i)
        CHECK(std::abs(static_cast<double>(y.elements()[i]) - expected[i]) < 5e-5);
    };
    check({false, false, 1},
          {0.5556, 1.5556, 2.5556, 3.5556, 4.5556, 5.5556, 6.5556, 7.5556, 8.5556});
    check({false, false, 0.1}, {0, 1, 2, 3, 5, 6, 7, 8, 9});
    check({true, false, 1}, {8, 1, 5, 4, 3, 2, 6, 7, 9});
  });
}

TEST_CASE("every shape, policy and layout") {
  std::uint64_t seed = 0;
  for (extents3 e : variant_shapes()) {
    form const kind = forms[seed % std::size(forms)];
    pattern_order const order{seed % 2 == 0 ? irregular : up};
    CAPTURE(kind.ranks);
    CAPTURE(kind.entropic);
    ++seed;
    auto const p = make_problem<float>(e, kind, order, seed,
                                       seed % 3 == 0 ? mixed_lengths(e) : std::vector<index_t>{});
    check_values(p, kind, order);
    if (seed % 2 == 0)
      check_every_way(p, make_runner<std::uint32_t, float>(kind, order));
    else
      check_every_way(p, make_runner<std::uint16_t, float>(kind, order));
  }
}

TEST_CASE_TEMPLATE("every form and element type", T, float, double, float16, bfloat16) {
  extents3 const e{2, 21, 6};
  for (form const& kind : forms) {
    CAPTURE(kind.ranks);
    CAPTURE(kind.entropic);
    CAPTURE(kind.strength);
    pattern_order const order{irregular};
    auto const p = make_problem<T>(e, kind, order, 5, {21, 16});
    check_values(p, kind, order);
    check_policies(p, make_runner<std::uint16_t, T>(kind, order));
  }
}

TEST_CASE("exponentials of lanes have the bits of scalars in every instruction set") {
  using namespace ss::detail;
  double const infinity = std::numeric_limits<double>::infinity();
  std::vector<double> exponents{0, -0.0, -0x1p-1074, -0x1p-60, -0.34657359027997264, -745.2};
  for (double limit : {-707.9, -708.0, -708.1, -708.3964, -1e300, -infinity})
    exponents.push_back(limit);
  random_stream random(11);
  while (exponents.size() < 1001) exponents.push_back(-std::abs(4 * random.normal()));
  while (exponents.size() < 1501) exponents.push_back(-std::abs(300 * random.normal()));
  unfused<double> math{};
  for (ss::isa set : available_isas()) {
    auto const count = static_cast<index_t>(exponents.size());
    std::vector<double> values = exponents;
    values.resize(exponents.size() + exponential_lanes);
    with_isa(fused_isa(set),
             [&](auto target) { compute_exponentials(target, values.data(), count); });
    bool equal = true;
    for (std::size_t i = 0; i < exponents.size(); ++i)
      equal &= bit_cast<std::uint64_t>(values[i]) ==
               bit_cast<std::uint64_t>(exp_at_most_one(math, exponents[i]));
    CHECK(equal);
  }
}

TEST_CASE_TEMPLATE("gradients equal central differences of the formula", T, double) {
  // The results are smooth, except where pools merge; the step stays clear of these points. The
  // truncation error is h^2 times a third derivative of at most (3 / strength)^2, and the rounding
  // error 50 units of values up to 40, divided by h.
  double const h = 1e-5, bound = 400 * h * h + 50 * 40 * 0x1p-53 / h;
  extents3 const e{1, 12, 4};
  random_stream random(3);
  tensor<T> x(e), dy(e), y(e), dx(e);
  for (T& v : x.elements()) v = 2 * random.normal();
  for (T& v : dy.elements()) v = random.normal();
  pattern_order const order{zigzag};
  for (form const& kind : forms)
    for_each_backend_once(static_cast<std::uint64_t>(kind.strength), [&](any_exec const& exec) {
      CAPTURE(kind.ranks);
      CAPTURE(kind.entropic);
      make_runner<std::uint32_t, T>(kind, order)(exec, x.view(), y.view(), dy.view(), dx.view(),
                                                 view_of({}));
      for (index_t c = 0; c < e.channels; ++c)
        for (index_t row = 0; row < e.length; ++row) {
          auto const product = [&](double shift) {
            column values = x.column(0, c);
            values[static_cast<std::size_t>(row)] += shift;
            column const result = expected_column(values, kind, order.ascending(c, e.channels));
            double sum = 0;
            for (std::size_t n = 0; n < result.size(); ++n)
              sum += dy(0, static_cast<index_t>(n), c) * result[n];
            return sum;
          };
          double const difference = (product(h) - product(-h)) / (2 * h);
          CHECK(std::abs(dx(0, row, c) - difference) <= bound * (1 + 1 / kind.strength));
        }
    });
}

TEST_CASE_TEMPLATE("strengths at both ends, ties and equal values", T, double) {
  extents3 const e{1, 40, 3};
  tensor<T> x = tied_tensor<T>(e, 9), y(e);
  for (index_t n = 0; n < e.length; ++n) x(0, n, 1) = 0.1;
  for_each_backend_once(2, [&](any_exec const& exec) {
    auto const run = [&](form const& kind) {
      with_operator(kind, {}, [&](auto const& op) {
        std::vector<unsigned char> memory(op.template workspace_bytes<T>(exec, e));
        op.forward(exec, x.view(), y.view(), ss::no_saved, memory);
      });
    };
    for (bool entropic : {false, true}) {
      // Equal values share their mean rank, even if the strength is tiny.
      for (double strength : {1e-300, 1e-3}) {
        run({true, entropic, strength});
        for (index_t n = 0; n < e.length; ++n) {
          CHECK(y(0, n, 1) == doctest::Approx(20.5).epsilon(1e-14));
          double below = 0, equal = 0;
          for (index_t i = 0; i < e.length; ++i) {
            below += x(0, i, 0) < x(0, n, 0);
            equal += x(0, i, 0) == x(0, n, 0);
          }
          CHECK(y(0, n, 0) == doctest::Approx(below + (equal + 1) / 2).epsilon(1e-14));
        }
      }
      run({true, entropic, 1e300});
      for (T rank : y.elements()) CHECK(rank == doctest::Approx(20.5).epsilon(1e-14));
      run({false, entropic, 1e300});
      for (index_t n = 0; n < e.length; ++n)
        CHECK(y(0, n, 1) == doctest::Approx(0.1).epsilon(1e-14));
    }
    run({false, false, 1e300});
    for (index_t c = 0; c < e.channels; ++c) {
      column const values = x.column(0, c);
      for (index_t n = 0; n < e.length; ++n)
        CHECK(std::abs(y(0, n, c) - mean(values, 0, 39)) < 1e-14);
    }
  });
}

TEST_CASE_TEMPLATE("pools at the limit of their order", T, double) {
  for_each_backend_once(4, [&](any_exec const& exec) {
    auto const check = [&](form const& kind, column const& x, column const& expected) {
      extents3 const e{1, static_cast<index_t>(x.size()), 1};
      tensor<T> input(e), y(e);
      tensor<std::uint32_t> perm(e), pools(e);
      input.elements() = x;
      with_operator(kind, {}, [&](auto const& op) {
        std::vector<unsigned char> memory(op.template workspace_bytes<T>(exec, e));
        op.forward(exec, input.view(), y.view(), {perm.view(), pools.view()}, memory);
      });
      CHECK(column(pools.elements().begin(), pools.elements().end()) == expected);
    };
    // Neighbors that differ by exactly 1 / strength, or by the strength, share a pool.
    check({false, false, 0.5}, {6, 0, 4, 2, 7}, {0, 0, 0, 0, 4});
    check({true, false, 2}, {6, 0, 4, 2, 10}, {0, 0, 0, 0, 4});
    // The second pair joins the first one if it is at least 2 - ratio above it.
    double const first = 1.5, second = 1.50005,
                 ratio = std::log1p(std::exp(-first)) - std::log1p(std::exp(-second));
    for (double above : {1e-10, -1e-10}) {
      double const distance = 2 - ratio + above;
      check({false, true, 1}, {0, first, distance, distance + second},
            above > 0 ? column{0, 0, 0, 0} : column{0, 0, 2, 2});
    }
  });
}

#if !defined(__FAST_MATH__)
TEST_CASE("strength 0 has the bits of slicing_sort, and NaN does not change other rows") {
  extents3 const e{2, 30, 35};
  tensor<float> const x = mixed_tensor<float>(e, all_kinds, 4), dy = tied_tensor<float>(e, 5);
  tensor<float> y(e), dx(e), sorted(e), sorted_dx(e);
  tensor<std::uint32_t> perm(e), pools(e);
  for_each_backend_once(6, [&](any_exec const& exec) {
    std::vector<unsigned char> memory(1 << 20);
    ss::slicing_sort<pattern_order> const sort;
    sort.forward(exec, x.view(), sorted.view(), {perm.view()}, memory);
    sort.backward(exec, dy.view(), {perm.view()}, sorted_dx.view(), memory);
    for (bool entropic : {false, true}) {
      make_runner<std::uint32_t, float>({false, entropic, 0}, {})(
          exec, x.view(), y.view(), dy.view(), dx.view(), view_of({}));
      CHECK(same_bits(y.elements(), sorted.elements()));
      CHECK(same_bits(dx.elements(), sorted_dx.elements()));
    }
    for (form const& kind : forms) {
      tensor<float> finite = tied_tensor<float>(e, 7), with_nan = finite;
      tensor<float> nan_y(e), nan_dx(e);
      std::vector<index_t> const lengths{27, 27};
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        if (n >= 27) with_nan(b, n, c) = std::numeric_limits<float>::quiet_NaN();
      });
      auto const run = make_runner<std::uint32_t, float>(kind, {});
      run(exec, finite.view(), y.view(), dy.view(), dx.view(), view_of(lengths));
      run(exec, with_nan.view(), nan_y.view(), dy.view(), nan_dx.view(), view_of({}));
      for_each_position(e, [&](index_t b, index_t n, index_t c) {
        if (n < 27) {
          CHECK(nan_y(b, n, c) == y(b, n, c));
          CHECK(nan_dx(b, n, c) == dx(b, n, c));
        } else {
          CHECK(std::isnan(nan_y(b, n, c)));
          CHECK(nan_dx(b, n, c) == (kind.ranks ? 0 : dy(b, n, c)));
        }
      });
    }
  });
}
#endif

TEST_CASE("saved state, and accumulation, also in place into dy") {
  extents3 const e{2, 9, 34};
  tensor<float> const x = tied_tensor<float>(e, 1), dy = tied_tensor<float>(e, 2),
                      before = tied_tensor<float>(e, 3);
  tensor<float> y(e), unsaved_y(e), dx(e), sum(e), dy_and_dx(e);
  tensor<std::uint16_t> perm(e), pools(e);
  for (form const& kind : forms)
    for_each_backend_once(sizeof kind, [&](any_exec const& exec) {
      with_operator(kind, {}, [&](auto const& op) {
        std::vector<unsigned char> memory(op.template workspace_bytes<float>(exec, e));
        op.forward(exec, x.view(), y.view(), {perm.view(), pools.view()}, memory);
        op.forward(exec, x.view(), unsaved_y.view(), ss::no_saved, memory);
        CHECK(same_bits(y.elements(), unsaved_y.elements()));
        for_each_position(e, [&](index_t b, index_t n, index_t c) {
          CHECK(pools(b, n, c) <= n);
          CHECK(pools(b, pools(b, n, c), c) == pools(b, n, c));
          if (n > 0) CHECK(x(b, perm(b, n - 1, c), c) <= x(b, perm(b, n, c), c));
        });
        ss::backward_options const accumulate{ss::grad_mode::accumulate};
        ss::const_saved_pools const state{perm.view(), pools.view()};
        op.backward(exec, dy.view(), x.view(), state, dx.view(), memory);
        sum = before;
        op.backward(exec, dy.view(), x.view(), state, sum.view(), memory, accumulate);
        dy_and_dx = dy;
        op.backward(exec, dy_and_dx.view(), x.view(), state, dy_and_dx.view(), memory, accumulate);
      });
      for (std::size_t i = 0; i < dx.elements().size(); ++i) {
        CHECK(sum.elements()[i] == before.elements()[i] + dx.elements()[i]);
        CHECK(dy_and_dx.elements()[i] == dy.elements()[i] + dx.elements()[i]);
      }
    });
}

TEST_CASE("argument checks") {
  extents3 const e{2, 5, 3};
  tensor<float> x(e), y(e), dx(e);
  tensor<std::uint32_t> perm(e), pool_rows(e);
  ss::index_tensor3 pools = pool_rows.view();
  ss::exec::host exec;
  double strength = 1;
  tensor3<float const> input = x.view();
  std::vector<unsigned char> memory(1 << 16);
  auto const forward = [&](auto op) {
    return error_message(
        op.forward(ss::exec::dry_run{exec}, x.view(), y.view(), {perm.view(), pools}, memory), [&] {
          op.forward(exec, x.view(), y.view(), {perm.view(), pools}, memory);
        });
  };
  auto const backward = [&](auto op) {
    ss::const_saved_pools const state{perm.view(), pools};
    return error_message(
        op.backward(ss::exec::dry_run{exec}, y.view(), input, state, dx.view(), memory),
        [&] { op.backward(exec, y.view(), input, state, dx.view(), memory); });
  };
  using ss::regularization::entropic;
  using sort = ss::soft_slicing_sort<ss::regularization::l2, pattern_order>;
  using rank = ss::soft_rank<ss::regularization::l2, pattern_order>;
  SUBCASE("accepted, where l2 ignores x") {
    CHECK(forward(sort(0)) == "");
    for (index_t n = 0; n < 30; ++n) pool_rows.elements()[static_cast<std::size_t>(n)] = 0;
    input = {};
    CHECK(backward(sort{}) == "");
    CHECK(backward(ss::soft_sort{1, entropic{}, pattern_order{}}) ==
          "soft_sort.backward: x.batch is 0, must be 2 (dy.batch)");
  }
  SUBCASE("strength") {
    strength = -1;
    CHECK(forward(sort{strength}) ==
          "soft_sort.forward: strength is -1, must be finite and at least 0");
    CHECK(forward(rank{0}) == "soft_rank.forward: strength is 0, must be finite and positive");
    CHECK(backward(rank{strength}) ==
          "soft_rank.backward: strength is -1, must be finite and positive");
#if !defined(__FAST_MATH__)
    strength = std::numeric_limits<double>::infinity();
    CHECK(forward(rank{strength}) ==
          "soft_rank.forward: strength is inf, must be finite and positive");
#endif
  }
  SUBCASE("pools") {
    tensor<std::uint32_t> wrong({2, 4, 3});
    pools = wrong.view();
    CHECK(forward(rank{}) == "soft_rank.forward: pools.length is 4, must be 5 (x.length)");
    CHECK(backward(sort{}) == "soft_sort.backward: pools.length is 4, must be 5 (dy.length)");
    pools = perm.view();
    CHECK(says(forward(sort{}), "soft_sort.forward: pools overlaps perm ("));
  }
  SUBCASE("x of entropic backward") {
    input = dx.view();
    CHECK(says(backward(ss::soft_rank{1, entropic{}, pattern_order{}}),
               "soft_rank.backward: x overlaps dx ("));
  }
}
