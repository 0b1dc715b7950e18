// SPDX-License-Identifier: Apache-2.0
// Sinkhorn's algorithm: an oracle, central differences, golden values, the same bits on every
// backend, masks, lengths, special values, and errors.
#define SLICESORT_TEST_EVERY_BACKEND
#include "oracle.hpp"
#include "support/error_message.hpp"
#include "support/numbers.hpp"
#include "support/variants.hpp"

#include <slicesort/sinkhorn.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

using matrix = dense_matrix_oracle;
using real = long double;
using ss::side;

constexpr ss::half_steps every_steps[] = {
    {1, side::rows}, {1, side::columns}, {2, side::rows},    {2, side::columns},
    {3, side::rows}, {4, side::columns}, {7, side::columns}, {20, side::columns}};

// Valid columns of a sample with this number of valid rows.
inline index_t valid_columns(index_t columns, index_t rows) {
  return rows % 3 == 0 ? columns : columns - columns / 3;
}
inline std::vector<index_t> column_lengths(index_t columns, ss::tensor1<index_t const> rows) {
  std::vector<index_t> lengths;
  for (index_t b = 0; b < rows.size(); ++b) lengths.push_back(valid_columns(columns, rows(b)));
  return lengths;
}

// A call. Its expected results are those of the host without vector instructions.
template <class T>
struct matrix_problem : variant_problem<T> {
  ss::sinkhorn op{1.0};

  matrix_problem(extents3 e, ss::sinkhorn sinkhorn, double spread, std::uint64_t seed,
                 std::vector<index_t> row_lengths = {})
      : op(sinkhorn) {
    this->lengths = std::move(row_lengths);
    auto const random = [&](std::uint64_t stream, double scale) {
      tensor<T> t = tensor_of_columns<T>(e, [=](std::uint64_t column) {
        return make_column<T>(input_kind::normal, static_cast<std::size_t>(e.length),
                              seed + stream + 7919 * column);
      });
      for (T& element : t.elements()) element = from_double<T>(scale * as_double(element));
      return t;
    };
    this->x = random(1, spread), this->dy = random(2, 1);
    for_each_position(e, [&](index_t b, index_t i, index_t j) {  // padding must not be read
      if (!is_valid(b, i, j))
        this->x(b, i, j) = this->dy(b, i, j) = from_bits<T>(ss::detail::nan_bits<T>);
    });
    this->y = this->dx = tensor<T>(e);
    run(any_exec(ss::exec::host{1, ss::isa::portable}), this->x.view(), this->y.view(),
        this->dy.view(), this->dx.view(), view_of(this->lengths));
  }

  index_t columns(index_t b) const {
    index_t const count = this->x.extents().channels;
    return this->lengths.empty() ? count : valid_columns(count, this->rows(b));
  }
  bool is_valid(index_t b, index_t i, index_t j) const {
    return i < this->rows(b) && j < columns(b);
  }
  // Returns the valid part of a sample, divided by `divisor`.
  matrix sample(tensor<T> const& t, index_t b, double divisor) const {
    matrix s(this->rows(b), columns(b));
    for (index_t i = 0; i < s.rows(); ++i)
      for (index_t j = 0; j < s.columns(); ++j)
        s(i, j) = static_cast<real>(as_double(t(b, i, j))) / static_cast<real>(divisor);
    return s;
  }

  // Runs backward first, because forward may overwrite x.
  void run(any_exec const& exec, ss::tensor3<T const> logits, ss::tensor3<T> out,
           ss::tensor3<T const> out_grad, ss::tensor3<T> grad,
           ss::tensor1<index_t const> row_lengths,
           ss::grad_mode mode = ss::grad_mode::overwrite) const {
    std::vector<index_t> const valid_column_counts =
        column_lengths(logits.extents().channels, row_lengths);
    ss::row_and_column_lengths const valid(row_lengths, view_of(valid_column_counts));
    guarded_workspace memory(op.template workspace_bytes<T>(exec, logits.extents()));
    op.backward(exec, out_grad, logits, grad, memory.get(), {mode, valid});
    op.forward(exec, logits, out, memory.get(), valid);
    CHECK(memory.red_zones_intact());
  }
  auto runner() const {
    return [this](auto const&... arguments) { run(arguments...); };
  }
};

// Error of an element relative to the size of the logits: `largest` is that of logits / tau.
template <class T>
real tolerance(real largest) {
  return (sizeof(T) == 8 ? real{1e-13} : real{1e-6}) * (1 + largest);
}

template <class T>
void check_against_oracle(matrix_problem<T> const& p) {
  extents3 const e = p.x.extents();
  real const unit_roundoff = std::ldexp(real{1}, -(format_of<T>().fraction_bits + 1));
  for (index_t b = 0; b < e.batch; ++b) {
    matrix const logits = p.sample(p.x, b, p.op.tau()), dy = p.sample(p.dy, b, 1);
    sinkhorn_oracle const oracle(logits, p.op.half_steps());
    matrix const y = oracle.result(), gradient = oracle.gradient(dy);
    real const bound = tolerance<T>(logits.largest()),
               gradient_bound = bound * dy.largest() * std::max<real>(y.largest(), 1);
    for (index_t i = 0; i < e.length; ++i)
      for (index_t j = 0; j < e.channels; ++j) {
        real const actual = static_cast<real>(as_double(p.y(b, i, j))),
                   actual_gradient = static_cast<real>(as_double(p.dx(b, i, j)));
        if (!p.is_valid(b, i, j)) {
          CHECK(bits_of(p.y(b, i, j)) == 0);
          CHECK(bits_of(p.dx(b, i, j)) == 0);
          continue;
        }
        // Exponentials below about 1e-38 flush to 0.
        real const smallest = 4 * std::numeric_limits<float>::min() *
                              std::max<real>(
                                  1, static_cast<real>(y.rows()) / static_cast<real>(y.columns())),
                   rounding = unit_roundoff + (sizeof(T) == 2 ? unit_roundoff : 0);
        REQUIRE(std::abs(actual - y(i, j)) <=
                (bound + rounding) * y(i, j) + smallest + (sizeof(T) == 2 ? real{1e-7} : 0));
        real const expected = gradient(i, j) / static_cast<real>(p.op.tau());
        REQUIRE(std::abs(actual_gradient - expected) <=
                gradient_bound / static_cast<real>(p.op.tau()) + rounding * std::abs(expected) +
                    (sizeof(T) == 2 ? real{1e-7} : 0));
      }
  }
}

std::vector<extents3> shapes() {
  return {{1, 1, 1},   {33, 4, 4},  {5, 2, 3},    {70, 3, 3},  {3, 16, 16}, {2, 16, 31},
          {2, 33, 32}, {3, 20, 13}, {1, 130, 66}, {2, 1, 300}, {2, 300, 1}};
}

}  // namespace

// Starts no threads, so ThreadSanitizer checks nothing.
TEST_CASE_TEMPLATE("results are those of the oracle" * doctest::skip(SLICESORT_TEST_TSAN), T, float,
                   double, float16, bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : shapes())
    for (ss::half_steps steps : every_steps) {
      ++seed;
      if (SLICESORT_TEST_ASAN && steps.count > 4) continue;  // the same accesses again
      CAPTURE(e.batch);
      CAPTURE(e.length);
      CAPTURE(e.channels);
      CAPTURE(steps.count);
      for (double spread : {1.0, 15.0}) {
        check_against_oracle(matrix_problem<T>(e, {0.8, steps}, spread, seed));
        check_against_oracle(matrix_problem<T>(e, {2, steps}, spread, seed, mixed_lengths(e, 1)));
      }
    }
}

TEST_CASE_TEMPLATE("the same bits on every backend, in every layout and split", T, float, double,
                   float16, bfloat16) {
  std::uint64_t seed = 100;
  for (extents3 e : shapes())
    for (ss::half_steps steps : {ss::half_steps{3, side::rows}, ss::half_steps{4}}) {
      ++seed;
      if (e.size() > 2000 && seed % 2 == 0 && !full_suite()) continue;
      matrix_problem<T> const p(e, {0.5, steps}, seed % 3 == 0 ? 12 : 1, seed,
                                seed % 4 < 2 ? mixed_lengths(e) : std::vector<index_t>{});
      check_every_way(p, p.runner());
    }
}

// Starts no threads, so ThreadSanitizer checks nothing.
TEST_CASE_TEMPLATE("widely spread logits of small matrices" * doctest::skip(SLICESORT_TEST_TSAN), T,
                   float, double) {
  for (extents3 e : {extents3{33, 4, 4}, extents3{5, 3, 6}, extents3{2, 16, 16}})
    for (double spread : {40.0, 400.0, 4000.0})
      check_against_oracle(matrix_problem<T>(e, {0.8, {20, side::columns}}, spread, 41));
}

TEST_CASE_TEMPLATE("the same bits beside matrices that need separate exponents", T, float, double) {
  for (extents3 e : {extents3{40, 4, 4}, extents3{3, 5, 7}})
    for (double spread : {3.0, 7.0}) {
      matrix_problem<T> const p(e, {0.9, {6, side::rows}}, spread, 51);
      tensor<T> mixed = p.x;
      for (index_t j = 0; j < e.channels; ++j) mixed(1, 0, j) = static_cast<T>(300 * j);
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        tensor<T> y(e), dx(e);
        p.run(exec, mixed.view(), y.view(), p.dy.view(), dx.view(), {});
        for_each_position(e, [&](index_t b, index_t i, index_t j) {
          if (b == 1) return;
          CHECK(bits_of(y(b, i, j)) == bits_of(p.y(b, i, j)));
          CHECK(bits_of(dx(b, i, j)) == bits_of(p.dx(b, i, j)));
        });
      });
    }
}

TEST_CASE_TEMPLATE("gradients accumulate, and leave padding alone", T, float, double, bfloat16) {
  for (extents3 e : {extents3{35, 4, 4}, extents3{5, 20, 30}})
    for (bool has_lengths : {false, true}) {
      matrix_problem<T> const p(e, {1, 5}, 2, 7,
                                has_lengths ? mixed_lengths(e) : std::vector<index_t>{});
      tensor<T> const before = tensor_of_columns<T>(e, [=](std::uint64_t column) {
        return make_column<T>(input_kind::normal, static_cast<std::size_t>(e.length), column + 9);
      });
      tensor<T> expected;
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        tensor<T> y(e), dx = before;
        p.run(exec, p.x.view(), y.view(), p.dy.view(), dx.view(), view_of(p.lengths),
              ss::grad_mode::accumulate);
        if (expected.extents().empty()) expected = dx;
        CHECK(same_bits(dx.elements(), expected.elements()));
        for_each_position(e, [&](index_t b, index_t i, index_t j) {
          double const sum = as_double(before(b, i, j)) + as_double(p.dx(b, i, j));
          if (!p.is_valid(b, i, j))
            CHECK(bits_of(dx(b, i, j)) == bits_of(before(b, i, j)));
          else
            CHECK(as_double(dx(b, i, j)) ==
                  doctest::Approx(sum).epsilon(sizeof(T) == 2 ? 0.01 : 1e-5));
        });
      });
    }
}

TEST_CASE("gradients are central differences: 4 x 4, 20 half-steps") {
  extents3 const e{3, 4, 4};
  for (side last : {side::columns, side::rows}) {
    matrix_problem<double> const p(e, {0.7, {20, last}}, 1.5, 11);
    auto const loss = [&](tensor<double> const& x) {
      tensor<double> y(e);
      ss::scratch memory;
      p.op.forward(ss::exec::host{1}, x.view(), y.view(), memory);
      double sum = 0;
      for (std::size_t k = 0; k < y.elements().size(); ++k)
        sum += y.elements()[k] * p.dy.elements()[k];
      return sum;
    };
    constexpr double h = 1e-5;
    tensor<double> x = p.x;
    for (std::size_t k = 0; k < x.elements().size(); ++k) {
      double& element = x.elements()[k];
      double const old = element;
      element = old + h;
      double const above = loss(x);
      element = old - h;
      double const below = loss(x);
      element = old;
      CHECK(std::abs((above - below) / (2 * h) - p.dx.elements()[k]) < 1e-8);
    }
  }
}

TEST_CASE_TEMPLATE("golden values", T, float, double) {
  tensor<T> x({1, 4, 4}), y({1, 4, 4});
  x.elements() = elements_of<T>({0, 1, 2, 0, 2, 0, 0, 1, 0, 0, 1, 3, 1, 2, 0, 0});
  std::vector<double> const expected = {0.0421623405, 0.1759584157, 0.7580597933, 0.025588076,
                                        0.7558906814, 0.0577785177, 0.0656146031, 0.1209240276,
                                        0.0249029067, 0.0273953002, 0.1180237701, 0.8251651736,
                                        0.1770440715, 0.7388677663, 0.0583018335, 0.0283227227};
  for_each_backend(5, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    ss::sinkhorn const op(0.75, 8);
    guarded_workspace memory(op.workspace_bytes<T>(exec, x.extents()));
    op.forward(exec, x.view(), y.view(), memory.get());
    for (std::size_t k = 0; k < 16; ++k)
      CHECK(std::abs(static_cast<double>(y.elements()[k]) - expected[k]) <
            (sizeof(T) == 8 ? 1e-10 : 1e-6));
  });
}

TEST_CASE("sums of rows and columns") {
  for (extents3 e : {extents3{1, 4, 3}, extents3{1, 40, 30}}) {
    matrix_problem<double> const input(e, {1, 1}, 1, 3);
    double const ratio = static_cast<double>(e.length) / static_cast<double>(e.channels);
    for (ss::sinkhorn const op : {ss::sinkhorn(1, {201, side::rows}), ss::sinkhorn(1, 100)}) {
      tensor<double> y(e);
      ss::scratch memory;
      op.forward(ss::exec::host{1}, input.x.view(), y.view(), memory);
      for (index_t i = 0; i < e.length; ++i) {
        double sum = 0;
        for (index_t j = 0; j < e.channels; ++j) sum += y(0, i, j);
        CHECK(std::abs(sum - 1) < 1e-12);
      }
      for (index_t j = 0; j < e.channels; ++j) {
        double sum = 0;
        for (index_t i = 0; i < e.length; ++i) sum += y(0, i, j);
        CHECK(std::abs(sum - ratio) < 1e-12);
      }
    }
  }
}

TEST_CASE_TEMPLATE("logits of minus infinity are as absent", T, float, double) {
  T const minus_infinity = -std::numeric_limits<T>::infinity();
  for (extents3 e : {extents3{2, 5, 5}, extents3{1, 40, 24}}) {
    // Row 1 and column 2 have nothing but minus infinity.
    matrix_problem<T> const whole(e, {0.9, {5, side::rows}}, 1, 31);
    extents3 const smaller{e.batch, e.length - 1, e.channels - 1};
    tensor<T> masked = whole.x, x(smaller), dy(smaller);
    for_each_position(e, [&](index_t b, index_t i, index_t j) {
      if (i == 1 || j == 2)
        masked(b, i, j) = minus_infinity;
      else
        x(b, i - (i > 1), j - (j > 2)) = whole.x(b, i, j),
                                   dy(b, i - (i > 1), j - (j > 2)) = whole.dy(b, i, j);
    });
    for_each_backend_once(static_cast<std::uint64_t>(e.size()), [&](any_exec const& exec) {
      tensor<T> y(e), dx(e), small_y(smaller), small_dx(smaller);
      whole.run(exec, masked.view(), y.view(), whole.dy.view(), dx.view(), {});
      whole.run(exec, x.view(), small_y.view(), dy.view(), small_dx.view(), {});
      for_each_position(e, [&](index_t b, index_t i, index_t j) {
        if (i == 1 || j == 2) {
          CHECK(y(b, i, j) == 0);
          CHECK(dx(b, i, j) == 0);
          return;
        }
        T const bound = sizeof(T) == 8 ? T(1e-12) : T(1e-5);
        CHECK(std::abs(y(b, i, j) - small_y(b, i - (i > 1), j - (j > 2))) < bound);
        CHECK(std::abs(dx(b, i, j) - small_dx(b, i - (i > 1), j - (j > 2))) < bound);
      });
    });
  }
}

TEST_CASE_TEMPLATE("large logits stay finite, NaN is canonical", T, float, double) {
  for (extents3 e : {extents3{2, 4, 4}, extents3{1, 20, 20}}) {
    tensor<T> x(e), dy(e);
    for (std::size_t k = 0; k < x.elements().size(); ++k) {
      x.elements()[k] = k % 3 == 0 ? T(1e30) : k % 3 == 1 ? T(-1e30) : T(k % 7);
      dy.elements()[k] = T(1);
    }
    tensor<T> with_nan = x;
    with_nan(0, 1, 1) = -std::numeric_limits<T>::quiet_NaN();
    matrix_problem<T> const p(e, {1, 10}, 1, 1);
    for_each_backend_once(static_cast<std::uint64_t>(e.size()), [&](any_exec const& exec) {
      tensor<T> y(e), dx(e);
      p.run(exec, x.view(), y.view(), dy.view(), dx.view(), {});
      for (T v : y.elements()) CHECK((v >= 0 && v <= T(1.001)));
      for (T v : dx.elements()) CHECK(std::isfinite(v));
#if !defined(__FAST_MATH__)  // -ffast-math excludes NaN
      p.run(exec, with_nan.view(), y.view(), dy.view(), dx.view(), {});
      for_each_position({1, e.length, e.channels}, [&](index_t, index_t i, index_t j) {
        CHECK(bits_of(y(0, i, j)) == ss::detail::nan_bits<T>);
        CHECK(bits_of(dx(0, i, j)) == ss::detail::nan_bits<T>);
      });
      if (e.batch > 1)
        for_each_position({1, e.length, e.channels},
                          [&](index_t, index_t i, index_t j) { CHECK(std::isfinite(y(1, i, j))); });
#endif
    });
  }
}

// Contiguous matrices are loaded as one row.
TEST_CASE("small matrices with a gap of one element between rows") {
  extents3 const e{3, 4, 3};
  matrix_problem<float> const p(e, {0.5, 5}, 1, 3);
  strides3 const s{17, 4, 1};
  strided_tensor<float> const x(p.x, s), dy(p.dy, s);
  strided_tensor<float> y(e, s), dx(e, s);
  p.run(any_exec(ss::exec::host{}), x.view(), y.view(), dy.view(), dx.view(), {});
  CHECK(same_bits(y.contents().elements(), p.y.elements()));
  CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
  CHECK((y.padding_intact() && dx.padding_intact()));
}

TEST_CASE("half-steps and iterations") {
  CHECK(ss::sinkhorn(0.5).half_steps().count == 20);
  CHECK(ss::sinkhorn(0.5, 3).half_steps().count == 6);
  CHECK(ss::sinkhorn(0.5, 3).half_steps().last == side::columns);
  CHECK(ss::sinkhorn(0.5, {3, side::rows}).half_steps().last == side::rows);
  CHECK(ss::sinkhorn(0.5, {3, side::rows}).tau() == 0.5);
}

TEST_CASE("rejected calls") {
  extents3 const e{2, 4, 5};
  tensor<float> x(e), y(e), other({2, 4, 4});
  ss::scratch memory;
  auto const forward = [&](ss::sinkhorn const& op, ss::tensor3<float> out,
                           ss::sinkhorn_options options = {}) {
    auto const status =
        op.forward(ss::exec::dry_run{ss::exec::host{}}, x.view(), out, memory, options);
    return error_message(status,
                         [&] { op.forward(ss::exec::host{}, x.view(), out, memory, options); });
  };
  CHECK(forward(ss::sinkhorn(1), y.view()) == "");
  CHECK(forward(ss::sinkhorn(0), y.view()) ==
        "sinkhorn.forward: tau is 0, must be positive and finite");
#if !defined(__FAST_MATH__)
  CHECK(forward(ss::sinkhorn(std::numeric_limits<double>::quiet_NaN()), y.view()) ==
        "sinkhorn.forward: tau is nan, must be positive and finite");
#endif
  CHECK(forward({1, {0, side::rows}}, y.view()) ==
        "sinkhorn.forward: half_steps is 0, must be in 1..131072");
  CHECK(forward({1, ss::half_steps{131073}}, y.view()) ==
        "sinkhorn.forward: half_steps is 131073, must be in 1..131072");
  CHECK(forward(ss::sinkhorn(1), other.view()) ==
        "sinkhorn.forward: y.channels is 4, must be 5 (logits.channels)");
  std::vector<index_t> const rows = {4, 5}, columns = {5, 6};
  CHECK(forward(ss::sinkhorn(1), y.view(), ss::lengths(rows)) ==
        "sinkhorn.forward: lengths[1] is 5, must be in 0..4 (length)");
  CHECK(forward(ss::sinkhorn(1), y.view(), ss::row_and_column_lengths({}, ss::lengths(columns))) ==
        "sinkhorn.forward: column_lengths[1] is 6, must be in 0..5 (length)");
  CHECK(says(error_message([&] {
               ss::sinkhorn(1).backward(ss::exec::host{}, other.view(), x.view(), y.view(), memory);
             }),
             "sinkhorn.backward: dy.channels is 4, must be 5 (logits.channels)"));
  CHECK(says(
      error_message([&] { (void)ss::sinkhorn(1, 0).workspace_bytes<float>(ss::exec::host{}, e); }),
      "sinkhorn.workspace_bytes: half_steps is 0"));
}
