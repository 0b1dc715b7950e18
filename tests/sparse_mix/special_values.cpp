// SPDX-License-Identifier: Apache-2.0
// Tests sparse_mix with zeros of either sign, denormals, infinities and NaN, and with padding rows,
// which are copied.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace support;

// -ffast-math excludes these values.
#if !defined(__FAST_MATH__)

namespace {

constexpr residual_kind all_residuals[] = {residual_kind::per_factor, residual_kind::none,
                                           residual_kind::initial};

}  // namespace

TEST_CASE_TEMPLATE("special values propagate as in any sum of products", T, float, double, float16,
                   bfloat16) {
  std::uint64_t seed = 2;
  for (input_kind kind : {input_kind::specials, input_kind::rare_specials, input_kind::signed_zeros,
                          input_kind::zero_among, input_kind::denormals, input_kind::extremes,
                          input_kind::random_bits})
    for (residual_kind residual : all_residuals) {
      ++seed;
      extents3 const e{2, static_cast<index_t>(3 + seed % 15), 35};
      auto p = normal_mix<T>(e, 3, 3, residual, seed, random_lengths(e, seed));
      auto const make_values = [&](std::size_t size) { return make_column<T>(kind, size, ++seed); };
      p.x.elements() = make_values(p.x.elements().size());
      p.shared_weights = false;
      random_stream random(seed);
      if (random.below(2) == 0) p.dy.elements() = make_values(p.dy.elements().size());
      if (random.below(3) == 0) p.w = make_values(p.w.size());
      if (random.below(2) == 0) {
        p.mode = ss::grad_mode::accumulate;
        p.dx_before.elements() = make_values(p.dx_before.elements().size());
        p.dw_before = make_values(p.dw_before.size());
      }
      compute_expected(p);
      for_each_backend(p.backend_seed() + seed,
                       [&](any_exec const& exec) { CHECK(check_mix(p, exec) == ""); });
    }
}

TEST_CASE_TEMPLATE("zero sums have the sign of the residual", T, float, double, float16, bfloat16) {
  // A sum starts with the residual, or with +0.
  T const minus_zero = from_bits<T>(format_of<T>().sign());
  for (residual_kind residual : all_residuals) {
    auto p = normal_mix<T>({1, 4, 33}, 1, 0, residual, 2);
    for (T& v : p.x.elements()) v = minus_zero;
    for (T& v : p.dy.elements()) v = minus_zero;
    p.mode = ss::grad_mode::overwrite;
    compute_expected(p);
    bool const negative = residual != residual_kind::none;
    CHECK(bits_of(p.y(0, 2, 5)) == (negative ? format_of<T>().sign() : 0));
    // With residual `initial`, sums of gradients start with +0.
    CHECK(bits_of(p.dx(0, 2, 5)) ==
          (residual == residual_kind::per_factor ? format_of<T>().sign() : 0));
    for_each_backend(p.backend_seed(),
                     [&](any_exec const& exec) { CHECK(check_mix(p, exec) == ""); });
  }
}

TEST_CASE_TEMPLATE("padding rows have no effect, whatever their values", T, float, float16) {
  extents3 const e{5, 14, 34};
  for (residual_kind residual : all_residuals) {
    auto p = normal_mix<T>(e, 4, 5, residual, 8, {14, 1, 0, 7, 13});
    p.shared_weights = false;
    p.mode = ss::grad_mode::overwrite;
    T const nan = nan_value<T>();
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t i = p.rows(b); i < e.length; ++i) {
        for (index_t c = 0; c < e.channels; ++c) p.x(b, i, c) = p.dy(b, i, c) = nan;
        for (index_t m = 0; m < p.factors; ++m)
          for (index_t k = 0; k < p.links; ++k) p.w[p.weight_index(m, b, i, k)] = nan;
      }
    compute_expected(p);
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t i = 0; i < e.length; ++i) {
        bool const mixed = i < p.rows(b);
        CHECK((decode(p.y(b, i, 3)).kind == number_class::nan) == !mixed);
        CHECK((decode(p.dx(b, i, 3)).kind == number_class::nan) == !mixed);
        for (index_t m = 0; m < p.factors; ++m)
          CHECK(decode(p.dw[p.weight_index(m, b, i, 2)]).kind == number_class::finite);
      }
    for (index_t every : {0, 1, 3})
      for_each_backend(
          p.backend_seed() + static_cast<std::uint64_t>(every),
          [&](any_exec const& exec) { CHECK(check_mix(p, exec, ss::save_every(every)) == ""); });
  }
}

TEST_CASE_TEMPLATE("padding rows are copied bit for bit", T, float, double, float16, bfloat16) {
  extents3 const e{2, 9, 33};
  auto p = normal_mix<T>(e, 2, 3, residual_kind::per_factor, 14, {4, 0});
  p.x.elements() = make_column<T>(input_kind::all_nan, p.x.elements().size(), 3);
  for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    with_mix(p, ss::save_all, [&](auto const& op) {
      tensor<T> y(e), state(e);
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e, p.weight_extents()));
      op.forward(exec, std::as_const(p.x).view(),
                 tensor_stack<T const>(p.w.data(), p.weight_extents()), y.view(), {state.view()},
                 scratch.get(), {view_of(p.lengths)});
      for_each_position(e, [&](index_t b, index_t i, index_t c) {
        if (i < p.rows(b)) return;
        CHECK(same_bits(y(b, i, c), p.x(b, i, c)));
        CHECK(same_bits(state(b, i, c), p.x(b, i, c)));
      });
    });
  });
}

TEST_CASE_TEMPLATE("a NaN affects only the rows that are linked to it", T, float, double) {
  std::vector<index_t> const links = {0, 2, -3};
  ss::sparse_mix const op{ss::topology::offsets{{links.data(), 3}}};
  extents3 const e{2, 11, 40};
  stack_extents const we{1, 2, 11, 3};
  tensor<T> x = normal_values<T>(e, 4);
  x(1, 6, 35) = nan_value<T>();
  std::vector<T> const w = normal_elements<T>(we.size(), 5);
  for_each_backend(3, [&](any_exec const& exec) {
    tensor<T> y(e);
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, e, we));
    op.forward(exec, std::as_const(x).view(), tensor_stack<T const>(w.data(), we), y.view(),
               ss::no_saved, scratch.get());
    for_each_position(e, [&](index_t b, index_t i, index_t c) {
      bool const is_linked = b == 1 && c == 35 && (i == 6 || i == 4 || i == 9);
      CHECK((decode(y(b, i, c)).kind == number_class::nan) == is_linked);
    });
  });
}

#endif
