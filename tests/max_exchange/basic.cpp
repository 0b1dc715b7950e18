// SPDX-License-Identifier: Apache-2.0
// Tests of max_exchange against a linear search for the first maximum.
#define SLICESORT_TEST_EVERY_BACKEND
#include "support/error_message.hpp"
#include "support/numbers.hpp"
#include "support/variants.hpp"

#include <slicesort/max_exchange.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

template <class T>
index_t first_maximum(std::vector<T> const& column) {
  std::size_t maximum_row = 0;
  for (std::size_t n = 1; n < column.size(); ++n)
    if (less(decode(column[maximum_row]), decode(column[n]))) maximum_row = n;
  return static_cast<index_t>(maximum_row);
}

// Returns a random case with its expected results.
template <class T>
variant_problem<T> make_random_problem(extents3 e, index_t row, std::uint64_t seed,
                                       std::vector<index_t> lengths = {}) {
  variant_problem<T> p;
  p.lengths = std::move(lengths);
  p.x = p.y = mixed_tensor<T>(e, all_kinds, seed);
  p.dy = p.dx = mixed_tensor<T>(e, all_kinds, seed + 1);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels && p.rows(b) > 0; ++c) {
      index_t const m = first_maximum(p.x.column(b, c, p.rows(b)));
      std::swap(p.y(b, row, c), p.y(b, m, c));
      std::swap(p.dx(b, row, c), p.dx(b, m, c));
    }
  return p;
}

// Returns the function that check_every_way and check_policies call.
template <class Index>
auto make_runner(index_t row) {
  return [=](any_exec const& exec, auto x, auto y, auto dy, auto dx, auto lengths) {
    ss::max_exchange const op{row};
    tensor<Index> maximum({x.extents().batch, 1, x.extents().channels});
    op.forward(exec, x, y, {maximum.view()}, {}, {lengths});
    op.backward(exec, dy, {maximum.view()}, dx, {}, {ss::grad_mode::overwrite, lengths});
  };
}

}  // namespace

TEST_CASE_TEMPLATE("golden values", T, float, double, float16, bfloat16) {
  tensor<T> x({1, 5, 1}), y({1, 5, 1}), dx({1, 5, 1});
  tensor<std::uint16_t> maximum({1, 1, 1});
  x.elements() = elements_of<T>({3, 1, 7, 7, 0});
  for_each_backend_once(sizeof(T), [&](any_exec const& exec) {
    ss::max_exchange{}.forward(exec, x.view(), y.view(), {maximum.view()});
    CHECK(same_bits(y.elements(), elements_of<T>({7, 1, 3, 7, 0})));
    CHECK(maximum.elements()[0] == 2);
    ss::max_exchange{}.backward(exec, x.view(), {maximum.view()}, dx.view());
    CHECK(same_bits(dx.elements(), elements_of<T>({7, 1, 3, 7, 0})));
    ss::max_exchange{4}.forward(exec, x.view(), y.view(), ss::no_saved);
    CHECK(same_bits(y.elements(), elements_of<T>({3, 1, 0, 7, 7})));
  });
}

TEST_CASE_TEMPLATE("every shape, policy and layout", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : variant_shapes())
    for (index_t row : {index_t{0}, e.length / 2, e.length - 1}) {
      if (row < 0) continue;
      check_every_way(make_random_problem<T>(e, row, ++seed), make_runner<std::uint32_t>(row));
      check_every_way(make_random_problem<T>(e, row, ++seed, mixed_lengths(e, row + 1)),
                      make_runner<std::uint16_t>(row));
    }
}

TEST_CASE("every kind of input, and lengths beyond one SIMD register") {
  for (int kind = 0; kind < all_kinds; ++kind)
    for (index_t n : {1, 2, 63, 64, 65, 300}) {
      extents3 const e{1, n, 40};
      auto p = make_random_problem<float>(e, 0, static_cast<std::uint64_t>(kind));
      p.x = p.y = tensor_of_columns<float>(e, [=](std::uint64_t column) {
        return make_column<float>(static_cast<input_kind>(kind), static_cast<std::size_t>(n),
                                  column);
      });
      p.dx = p.dy;
      for (index_t c = 0; c < e.channels; ++c) {
        index_t const m = first_maximum(p.x.column(0, c));
        std::swap(p.y(0, 0, c), p.y(0, m, c));
        std::swap(p.dx(0, 0, c), p.dx(0, m, c));
      }
      check_policies(p, make_runner<std::int32_t>(0));
    }
}

TEST_CASE("saved rows, also of empty samples, and calls without saving") {
  extents3 const e{4, 6, 35};
  auto const p = make_random_problem<float>(e, 2, 77, {6, 0, 3, 5});
  tensor<float> y(e), not_saved_y(e);
  tensor<std::int32_t> maximum({4, 1, 35});
  ss::max_exchange const op{2};
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    op.forward(exec, p.x.view(), y.view(), {maximum.view()}, {}, {view_of(p.lengths)});
    for_each_position({4, 1, 35}, [&](index_t b, index_t, index_t c) {
      index_t const m = p.rows(b) == 0 ? 2 : first_maximum(p.x.column(b, c, p.rows(b)));
      CHECK(maximum(b, 0, c) == m);
    });
    op.forward(exec, p.x.view(), not_saved_y.view(), ss::no_saved, {}, {view_of(p.lengths)});
    CHECK(same_bits(y.elements(), not_saved_y.elements()));
  });
}

TEST_CASE_TEMPLATE("accumulation, also in place into dy", T, float, double, float16, bfloat16) {
  extents3 const e{3, 9, 34};
  tensor<T> const x = integer_tensor<T>(e, 5, 1), dy = integer_tensor<T>(e, 20, 2);
  tensor<T> y(e), overwritten_dx(e), dx = integer_tensor<T>(e, 20, 3);
  tensor<T> const before = dx;
  tensor<std::uint16_t> maximum({3, 1, 34});
  ss::max_exchange const op{1};
  ss::backward_options const accumulate{ss::grad_mode::accumulate};
  for_each_backend_once(sizeof(T), [&](any_exec const& exec) {
    dx = before;
    op.forward(exec, x.view(), y.view(), {maximum.view()});
    op.backward(exec, dy.view(), {maximum.view()}, overwritten_dx.view());
    op.backward(exec, dy.view(), {maximum.view()}, dx.view(), {}, accumulate);
    tensor<T> dy_and_dx = dy;
    op.backward(exec, dy_and_dx.view(), {maximum.view()}, dy_and_dx.view(), {}, accumulate);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      auto const value = [&](tensor<T> const& t) { return decode(t(b, n, c)).value; };
      CHECK(value(dx) == value(before) + value(overwritten_dx));
      CHECK(value(dy_and_dx) == value(dy) + value(overwritten_dx));
    });
  });
}

TEST_CASE("backward is the exact transpose: <dy, J v> = <J' dy, v>") {
  extents3 const e{2, 50, 37};
  tensor<float> const x = integer_tensor<float>(e, 100, 8), dy = integer_tensor<float>(e, 100, 9);
  tensor<float> y(e), dx(e);
  for_each_backend_once(3, [&](any_exec const& exec) {
    make_runner<std::uint32_t>(3)(exec, x.view(), y.view(), dy.view(), dx.view(), view_of({}));
    std::int64_t forward_product = 0, backward_product = 0;
    for (std::size_t i = 0; i < x.elements().size(); ++i) {
      forward_product += static_cast<std::int64_t>(dy.elements()[i] * y.elements()[i]);
      backward_product += static_cast<std::int64_t>(dx.elements()[i] * x.elements()[i]);
    }
    CHECK(forward_product == backward_product);
  });
}

TEST_CASE("argument checks") {
  extents3 const e{2, 5, 3};
  tensor<float> x(e), y(e);
  tensor<std::uint32_t> maximum_rows({2, 1, 3});
  std::vector<index_t> lengths;
  index_t row = 0;
  ss::exec::host exec;
  tensor3<float> output = y.view();
  ss::index_tensor3 maximum = maximum_rows.view();
  auto const forward = [&] {
    ss::max_exchange const op{row};
    return error_message(
        op.forward(ss::exec::dry_run{exec}, x.view(), output, {maximum}, {}, {view_of(lengths)}),
        [&] { op.forward(exec, x.view(), output, {maximum}, {}, {view_of(lengths)}); });
  };
  auto const backward = [&] {
    ss::max_exchange const op{row};
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    ss::const_saved_maximum const state{ss::const_index_tensor3(maximum)};
    return error_message(op.backward(ss::exec::dry_run{exec}, x.view(), state, output, {}, options),
                         [&] { op.backward(exec, x.view(), state, output, {}, options); });
  };
  CHECK(ss::max_exchange::workspace_bytes<float>(exec, e) == 0);
  SUBCASE("accepted") {
    CHECK(forward() == "");
    CHECK(backward() == "");
    lengths = {0, 1};
    CHECK(forward() == "");
  }
  SUBCASE("row") {
    row = -1;
    CHECK(forward() == "max_exchange.forward: row is -1, must be in 0..4 (a row of x)");
    row = 5;
    CHECK(backward() == "max_exchange.backward: row is 5, must be in 0..4 (a row of dy)");
  }
  SUBCASE("lengths") {
    row = 2;
    lengths = {3, 2};
    CHECK(forward() == "max_exchange.forward: lengths[1] is 2, must be 0 or more than 2 (row)");
    CHECK(backward() == "max_exchange.backward: lengths[1] is 2, must be 0 or more than 2 (row)");
    lengths = {3, 6};
    CHECK(forward() == "max_exchange.forward: lengths[1] is 6, must be in 0..5 (length)");
    lengths = {3};
    CHECK(forward() == "max_exchange.forward: lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("maximum") {
    tensor<std::uint32_t> wrong_shape({2, 5, 3});
    maximum = wrong_shape.view();
    CHECK(forward() == "max_exchange.forward: maximum.length is 5, must be 1");
    maximum = tensor3<std::uint32_t>(wrong_shape.view().data(), {2, 1, 4});
    CHECK(backward() == "max_exchange.backward: maximum.channels is 4, must be 3 (dy.channels)");
    maximum = tensor3<std::uint32_t>(nullptr, {2, 1, 3});
    CHECK(forward() == "max_exchange.forward: maximum.data is null, must point to [2, 1, 3]");
    maximum = tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(output.data()), {2, 1, 3});
    CHECK(says(forward(), "max_exchange.forward: maximum overlaps y ("));
  }
  SUBCASE("shape, policy") {
    output = {output.data(), {2, 4, 3}};
    CHECK(forward() == "max_exchange.forward: y.length is 4, must be 5 (x.length)");
    output = y.view();
    exec.threads = 0;
    CHECK(forward() == "max_exchange.forward: exec.threads is 0, must be at least 1");
  }
  SUBCASE("too long for 32-bit row numbers") {
    index_t const length = (index_t{1} << 31) + 1;
    tensor3<float const> const long_x(y.view().data(), {1, length, 1}, {0, 0, 0});
    tensor3<float> const long_y(y.view().data() + 1, {1, length, 1});  // overlaps y from above
    CHECK(std::string(ss::max_exchange{}
                          .forward(ss::exec::dry_run{exec}, long_x, long_y, ss::no_saved)
                          .message) ==
          "max_exchange.forward: x.length is 2147483649, must be at most 2147483648");
  }
}
