// SPDX-License-Identifier: Apache-2.0
// sinkhorn_csp gives the same bits on every backend, in every layout and for every split of the
// batch. basic.cpp checks the values.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <slicesort/sinkhorn_csp.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

using namespace support;

namespace {

// With -ffast-math, backends may sum in different orders.
#if defined(__FAST_MATH__)
constexpr bool has_fixed_order = false;
#else
constexpr bool has_fixed_order = true;
#endif

// Returns a test case whose expected results are computed by one host thread.
template <class T>
variant_problem<T> solve_on_host(sinkhorn_case const& c, std::uint64_t seed) {
  variant_problem<T> p;
  p.x = normal_tensor<T>(c.e, seed);
  p.dy = normal_tensor<T>(c.e, seed + 1);
  p.y = p.dx = tensor<T>(c.e);
  p.lengths = c.lengths;
  run_sinkhorn(c.op(), ss::exec::host{1}, std::as_const(p.x).view(), p.y.view(),
               std::as_const(p.dy).view(), p.dx.view(), view_of(p.lengths));
  return p;
}
// Returns a callable for the shared checks (variants.hpp).
auto make_runner(sinkhorn_case const& c) {
  return [&c](any_exec const& exec, auto x, auto y, auto dy, auto dx, auto lengths) {
    using T = typename decltype(x)::value_type;
    ss::tensor3<T const> const x_view(x), dy_view(dy);
    run_sinkhorn(c.op(), exec, x_view, y, dy_view, dx, lengths);
  };
}

std::vector<sinkhorn_case> shape_cases() {
  std::vector<sinkhorn_case> cases;
  std::uint64_t seed = 70;
  for (extents3 e : {extents3{1, 1, 1},
                     {5, 7, 1},
                     {3, 16, 31},
                     {2, 10, 33},
                     {2, 21, 4},
                     {1, 24, 5},
                     {3, 0, 4},
                     {0, 5, 4},
                     {2, 5, 0}}) {
    ++seed;
    index_t const group = 1 + static_cast<index_t>(seed * 7 % 11);
    index_t const reference = e.channels > 2 ? e.channels / 2 : 0;
    sinkhorn_case c{e, group, 0.4, 2, random_shifts(e.channels, seed), reference};
    if (e.channels == 0) c.reference = 0;
    cases.push_back(c);
    c.lengths = mixed_lengths(e);
    cases.push_back(c);
  }
  return cases;
}

template <class T>
void check_strides(sinkhorn_case const& c, variant_problem<T> const& p) {
  for (std::size_t i = 0; i < 6; ++i) {
    index_t const padding = i % 2 == 0 ? 3 : 0;
    strides3 const x_strides = strides_in_order(c.e, axis_orders[i], padding);
    strides3 const y_strides = strides_in_order(c.e, axis_orders[(i + 2) % 6], padding);
    for_each_backend_once(p.backend_seed() + i, [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      strided_tensor<T> const x(p.x, x_strides, 1), dy(p.dy, y_strides, 2);
      strided_tensor<T> y(c.e, y_strides, 3), dx(c.e, x_strides, 4);
      make_runner(c)(exec, x.view(), y.view(), dy.view(), dx.view(), view_of(p.lengths));
      CHECK(same_bits(y.contents().elements(), p.y.elements()));
      CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
      CHECK((y.padding_intact() && dx.padding_intact()));
    });
  }
}

}  // namespace

TEST_CASE_TEMPLATE("every shape, policy and layout" * doctest::skip(!has_fixed_order), T, float,
                   double) {
  std::uint64_t seed = 0;
  for (sinkhorn_case const& c : shape_cases()) {
    CAPTURE(c.e.batch);
    CAPTURE(c.e.length);
    CAPTURE(c.e.channels);
    CAPTURE(c.lengths.size());
    auto const p = solve_on_host<T>(c, ++seed);
    check_policies(p, make_runner(c));
    check_strides(c, p);
    check_sample_by_sample(p, make_runner(c));
  }
}

TEST_CASE("the default shifts and reference are the same as in csp") {
  extents3 const e{1, 10, 4};
  tensor<double> const x = normal_tensor<double>(e, 5);
  sinkhorn_case const c{e, 5, 0.5, 3, {0, 6, 9, 2}};  // (c + 1) * ceil(10 / 4) mod 10
  ss::sinkhorn_csp const op{ss::group_count{2}, ss::sinkhorn{0.5, 3}};
  CHECK(op.group(e) == 5);
  CHECK(op.shift_of(0, e, 10) == 0);  // the reference
  CHECK(op.shift_of(2, e, 10) == 9);
  CHECK(op.shift_of(2, e, 7) == 2);
  for_each_backend_once(8, [&](any_exec const& exec) {
    tensor<double> y(e), dx(e), expected_y(e), expected_dx(e);
    run_sinkhorn(op, exec, x.view(), y.view(), x.view(), dx.view(), {});
    run_sinkhorn(c.op(), exec, x.view(), expected_y.view(), x.view(), expected_dx.view(), {});
    CHECK(same_bits(y.elements(), expected_y.elements()));
    CHECK(same_bits(dx.elements(), expected_dx.elements()));
  });
}

TEST_CASE("64-bit shifts are equivalent to their remainders") {
  constexpr index_t max_shift = std::numeric_limits<index_t>::max(),
                    min_shift = std::numeric_limits<index_t>::min();
  // Modulo 6 and 7, 2^62 is 4 and 4, `max_shift` is 1 and 0, and `min_shift` is 4 and 6.
  struct far_shift {
    index_t shift(index_t channel, index_t, index_t) const {
      constexpr index_t shifts[] = {index_t{1} << 62, max_shift, min_shift, 0};
      return shifts[channel];
    }
  };
  for (index_t valid : {6, 7}) {
    extents3 const e{1, 7, 4};
    std::vector<index_t> const lengths{valid};
    sinkhorn_case c{
        e, 3, 0.5, 3,
        valid == 6 ? std::vector<std::int32_t>{4, 1, 4, 0} : std::vector<std::int32_t>{4, 0, 6, 0}};
    c.reference = 3;
    ss::sinkhorn_csp const op{ss::group_size{3}, ss::sinkhorn{0.5, 3}, far_shift{},
                              ss::reference{3}};
    for (index_t channel = 0; channel < 4; ++channel)
      CHECK(op.shift_of(channel, e, lengths[0]) == c.shifts[static_cast<std::size_t>(channel)]);
    tensor<double> const x = normal_tensor<double>(e, 5);
    for_each_backend_once(valid == 6 ? 3 : 6, [&](any_exec const& exec) {
      tensor<double> y(e), dx(e), expected_y(e), expected_dx(e);
      run_sinkhorn(op, exec, x.view(), y.view(), x.view(), dx.view(), view_of(lengths));
      run_sinkhorn(c.op(), exec, x.view(), expected_y.view(), x.view(), expected_dx.view(),
                   view_of(lengths));
      CHECK(same_bits(y.elements(), expected_y.elements()));
      CHECK(same_bits(dx.elements(), expected_dx.elements()));
    });
  }
}

TEST_CASE_TEMPLATE("accumulation", T, float, double) {
  sinkhorn_case const c{{3, 9, 5}, 4, 0.6, 2, random_shifts(5, 1), 2, {9, 5, 0}};
  tensor<T> const x = normal_tensor<T>(c.e, 3), dy = normal_tensor<T>(c.e, 4);
  tensor<T> const before = normal_tensor<T>(c.e, 5);
  for_each_backend_once(9, [&](any_exec const& exec) {
    tensor<T> y(c.e), dx(c.e), sum = before;
    run_sinkhorn(c.op(), exec, x.view(), y.view(), dy.view(), dx.view(), view_of(c.lengths));
    run_sinkhorn(c.op(), exec, x.view(), y.view(), dy.view(), sum.view(), view_of(c.lengths),
                 ss::grad_mode::accumulate);
    for_each_position(c.e, [&](index_t b, index_t n, index_t k) {
      T const expected = before(b, n, k) + dx(b, n, k);
      if (has_fixed_order)
        CHECK(same_bits(sum(b, n, k), expected));
      else
        CHECK(static_cast<double>(sum(b, n, k)) ==
              doctest::Approx(static_cast<double>(expected)).epsilon(1e-4));
    });
  });
}

TEST_CASE("more samples than one pass of the reference's gradient covers") {
  // Groups of one row: y is the shifted x, and dx is dy shifted back.
  sinkhorn_case const c{{2, (1 << 18) + 1, 2}, 1, 0.5, 1, {0, 3}};
  CHECK(ss::detail::samples_at_once(c.e) == 1);
  tensor<float> const x = integer_tensor<float>(c.e, 4, 1), dy = integer_tensor<float>(c.e, 9, 2);
  tensor<float> y(c.e), dx(c.e), expected_y = x, expected_dx = dy;
  for_each_position(c.e, [&](index_t b, index_t n, index_t k) {
    if (k == 0) return;
    expected_y(b, n, k) = x(b, c.source(n, k, c.e.length), k);
    expected_dx(b, c.source(n, k, c.e.length), k) = dy(b, n, k);
  });
  auto const check = [&](any_exec const& exec) {
    run_sinkhorn(c.op(), exec, x.view(), y.view(), dy.view(), dx.view(), {});
    double worst_error = 0;
    for (std::size_t i = 0; i < y.elements().size(); ++i) {
      worst_error = max_or_nan(
          worst_error, std::abs(as_double(y.elements()[i]) - as_double(expected_y.elements()[i])));
      worst_error = max_or_nan(worst_error, std::abs(as_double(dx.elements()[i]) -
                                                     as_double(expected_dx.elements()[i])));
    }
    // The only element of the transport matrix T is exp(a - a).
    CHECK(worst_error <= (has_fixed_order ? 0 : 1e-4));
  };
  if (testing(backend_kind::host)) check(ss::exec::host{2});
  if (full_suite()) for_each_grid(10, check);
}

TEST_CASE_TEMPLATE("blocks without enough shared memory use the workspace" *
                       doctest::skip(!testing(backend_kind::blocks) || !has_fixed_order),
                   T, double) {
  sinkhorn_case c{{2, 40, 5}, 20, 0.5, 3, random_shifts(5, 2), 1, {40, 27}};
  for (index_t iterations : {1, 3, 40}) {
    c.iterations = iterations;
    auto const p = solve_on_host<T>(c, 50 + static_cast<std::uint64_t>(iterations));
    std::size_t bytes_with_shared_memory = 0;
    for (std::size_t bytes : {232448u, 16384u, 2048u, 1024u, 0u}) {
      block_exec device;
      device.name = "little shared memory";
      device.device = {80, 4, bytes};
      device.seed = bytes;
      any_exec const exec = device;
      tensor<T> y(c.e), dx(c.e);
      make_runner(c)(exec, p.x.view(), y.view(), p.dy.view(), dx.view(), view_of(c.lengths));
      CAPTURE(bytes);
      CHECK(same_bits(y.elements(), p.y.elements()));
      CHECK(same_bits(dx.elements(), p.dx.elements()));
      std::size_t const workspace_bytes = c.op().workspace_bytes<T>(exec, c.e);
      if (bytes > 200000)
        bytes_with_shared_memory = workspace_bytes;
      else if (bytes < 2000)
        CHECK(workspace_bytes > bytes_with_shared_memory);
    }
  }
}

TEST_CASE("every block has its own part of the workspace" *
          doctest::skip(!testing(backend_kind::blocks))) {
  sinkhorn_case const c{{2, 40, 5}, 20, 0.5, 3, random_shifts(5, 2), 1};
  auto const p = solve_on_host<double>(c, 60);
  // All 20 blocks at once, or one after another.
  for (bool is_limited : {false, true}) {
    block_exec device;
    device.name = "no shared memory";
    device.device = {80, 4, 0};
    if (is_limited)
      device.tune = {[](ss::device_info, std::size_t, ss::grid_tuning t) {
        t.scratch_bytes = 1;
        return t;
      }};
    any_exec const exec = device;
    std::size_t const bytes = c.op().workspace_bytes<double>(exec, c.e);
    constexpr unsigned char untouched = 0xa5;
    std::vector<unsigned char> memory(32 * bytes, untouched);
    auto const is_touched = [&](std::size_t first, std::size_t last) {
      return std::any_of(memory.begin() + static_cast<std::ptrdiff_t>(first),
                         memory.begin() + static_cast<std::ptrdiff_t>(last),
                         [](unsigned char byte) { return byte != untouched; });
    };
    tensor<double> dx(c.e);
    c.op().backward(exec, p.dy.view(), p.x.view(), dx.view(), ss::workspace(memory.data(), bytes));
    CHECK(is_touched(bytes - bytes / 32, bytes));  // by the last block
    CHECK(!is_touched(bytes, memory.size()));
    if (has_fixed_order) CHECK(same_bits(dx.elements(), p.dx.elements()));
  }
}
