// SPDX-License-Identifier: Apache-2.0
// Test cases of sinkhorn_csp: runs the operator and compares it with the reference implementation.
#pragma once

#include "oracle.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/numbers.hpp"
#include "support/variants.hpp"

#include <slicesort/options.hpp>
#include <slicesort/sinkhorn_csp.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace support {

// Parameters of a test case.
struct sinkhorn_case {
  extents3 e;
  index_t group;
  double tau;
  index_t iterations;
  std::vector<std::int32_t> shifts;  // one per channel
  index_t reference = 0;
  std::vector<index_t> lengths = {};

  auto op() const {
    ss::tensor1<std::int32_t const> const table(shifts.data(), static_cast<index_t>(shifts.size()));
    return ss::sinkhorn_csp{ss::group_size{group}, ss::sinkhorn{tau, iterations},
                            ss::shift::table{table}, ss::reference{reference}};
  }
  index_t rows(index_t b) const {
    return lengths.empty() ? e.length : lengths[static_cast<std::size_t>(b)];
  }
  // Returns the source of row n of a channel after the shift.
  index_t source(index_t n, index_t c, index_t valid) const {
    index_t const shift = c == reference ? 0 : shifts[static_cast<std::size_t>(c)];
    return ((n - shift) % valid + valid) % valid;
  }
};

// Returns large and small shifts, some of them negative.
inline std::vector<std::int32_t> random_shifts(index_t channels, std::uint64_t seed) {
  random_stream random(seed);
  std::vector<std::int32_t> shifts;
  for (index_t c = 0; c < channels; ++c)
    shifts.push_back(static_cast<std::int32_t>(random.below(200)) - 60);
  return shifts;
}
template <class T>
tensor<T> normal_tensor(extents3 e, std::uint64_t seed) {
  return tensor_of_columns<T>(e, [=](std::uint64_t column) {
    return make_column<T>(input_kind::normal, static_cast<std::size_t>(e.length),
                          seed + 7919 * column);
  });
}

// Runs forward and backward with a workspace of exactly the required size.
template <class Op, class X, class Y, class DX>
void run_sinkhorn(Op const& op, any_exec const& exec, X const& x, Y const& y, X const& dy,
                  DX const& dx, ss::tensor1<index_t const> lengths,
                  ss::grad_mode mode = ss::grad_mode::overwrite) {
  using T = typename X::value_type;
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, x.extents()));
  op.forward(exec, x, y, scratch.get(), {lengths});
  op.backward(exec, dy, x, dx, scratch.get(), {mode, lengths});
  CHECK(scratch.red_zones_intact());
}

// Largest ratios of an error to its bound.
struct error_ratios {
  real y = 0, dx = 0;
};

// Expected results and error bounds.
struct sinkhorn_results {
  tensor<real> y, y_bound, dx, dx_bound;
};

template <class T>
sinkhorn_results compute_expected(sinkhorn_case const& p, tensor<T> const& x, tensor<T> const& dy) {
  sinkhorn_results expected{tensor<real>(p.e), tensor<real>(p.e), tensor<real>(p.e),
                            tensor<real>(p.e)};
  tensor<real> reference_size(p.e);  // sum of magnitudes in the gradient of the reference
  real const unit_roundoff = std::ldexp(real{1}, -(format_of<T>().fraction_bits + 1));
  auto const value = [](tensor<T> const& t, index_t b, index_t n, index_t c) {
    return static_cast<real>(t(b, n, c));
  };
  for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
    bool const is_copied = n >= p.rows(b) || c == p.reference;
    expected.y(b, n, c) = is_copied ? value(x, b, n, c) : 0;
    expected.dx(b, n, c) = is_copied ? value(dy, b, n, c) : 0;
    if (c == p.reference && n < p.rows(b)) reference_size(b, n, c) = std::abs(value(dy, b, n, c));
  });
  for (index_t b = 0; b < p.e.batch; ++b)
    for (index_t begin = 0; begin < p.rows(b); begin += p.group)
      for (index_t c = 0; c < p.e.channels; ++c) {
        if (c == p.reference) continue;
        index_t const rows = std::min(p.group, p.rows(b) - begin);
        std::vector<real> v, w, group_dy;
        for (index_t n = begin; n < begin + rows; ++n) {
          v.push_back(value(x, b, n, p.reference));
          w.push_back(value(x, b, p.source(n, c, p.rows(b)), c));
          group_dy.push_back(value(dy, b, n, c));
        }
        auto const group = solve_group(v, w, group_dy, static_cast<real>(p.tau), p.iterations);
        auto const error = sinkhorn_error::make<T>(group, p.iterations);
        for (index_t i = 0; i < rows; ++i) {
          auto const k = static_cast<std::size_t>(i);
          index_t const n = begin + i, source = p.source(n, c, p.rows(b));
          expected.y(b, n, c) = group.y[k];
          expected.y_bound(b, n, c) = error.y_error() * group.y_size[k];
          expected.dx(b, source, c) += group.dw[k];
          expected.dx_bound(b, source, c) = error.gradient_error() * group.dw_size[k];
          expected.dx(b, n, p.reference) += group.dv[k];
          expected.dx_bound(b, n, p.reference) += error.gradient_error() * group.dv_size[k];
          reference_size(b, n, p.reference) += group.dv_size[k];
        }
      }
  // The gradient of the reference is a sum in double, rounded once.
  auto const terms = static_cast<real>(p.e.channels + 2);
  for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
    if (c == p.reference)
      expected.dx_bound(b, n, c) +=
          (unit_roundoff + terms * std::ldexp(real{1}, -53)) * reference_size(b, n, c);
  });
  return expected;
}

// Returns the ratio of the error to its bound.
template <class T>
real error_ratio(T actual, real expected, real bound) {
  real const error = std::abs(static_cast<real>(actual) - expected);
  return error == 0 ? 0 : error / bound;
}

template <class T>
error_ratios measure_errors(sinkhorn_case const& p, any_exec const& exec, tensor<T> const& x,
                            tensor<T> const& dy, sinkhorn_results const& expected) {
  tensor<T> y(p.e), dx(p.e);
  run_sinkhorn(p.op(), exec, x.view(), y.view(), dy.view(), dx.view(), view_of(p.lengths));
  error_ratios worst;
  for_each_position(p.e, [&](index_t b, index_t n, index_t c) {
    worst.y = max_or_nan(worst.y,
                         error_ratio(y(b, n, c), expected.y(b, n, c), expected.y_bound(b, n, c)));
    worst.dx = max_or_nan(
        worst.dx, error_ratio(dx(b, n, c), expected.dx(b, n, c), expected.dx_bound(b, n, c)));
    if (n >= p.rows(b) || c == p.reference) CHECK(same_bits(y(b, n, c), x(b, n, c)));
    if (n >= p.rows(b)) CHECK(same_bits(dx(b, n, c), dy(b, n, c)));
  });
  return worst;
}

}  // namespace support
