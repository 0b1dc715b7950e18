// SPDX-License-Identifier: Apache-2.0
// Basic tests of multi_permutation: golden values, dense matrices, and the same bits on every path.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

using namespace support;

namespace {

template <class T>
void check_golden(index_t components, std::vector<double> const& values,
                  std::vector<double> const& expected) {
  extents3 const e{1, static_cast<index_t>(values.size()), 1};
  tensor<T> x(e), y(e);
  x.elements() = elements_of<T>(values);
  ss::multi_permutation<pattern_order> const op{components};
  for_each_backend_once(
      sizeof(T) + static_cast<std::uint64_t>(components), [&](any_exec const& exec) {
        guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
        op.forward(exec, x.view(), ss::uniform_weights, y.view(), ss::no_saved, scratch.get());
        CHECK(same_bits(y.elements(), elements_of<T>(expected)));
      });
}

// Fills padding with NaN, which must not affect results.
template <class T>
void poison_padding(variant_problem<T>& p) {
  for_each_position(p.x.extents(), [&](index_t b, index_t n, index_t c) {
    if (n < p.rows(b)) return;
    p.x(b, n, c) = from_bits<T>(format_of<T>().infinity() + 1 + static_cast<std::uint64_t>(n % 3));
    p.dy(b, n, c) = from_bits<T>(format_of<T>().mask());
  });
}

// Computes y and dx on contiguous tensors.
template <class T>
variant_problem<T> run_contiguous(multi_case<T> const& m, extents3 e, std::uint64_t seed,
                                  std::vector<index_t> lengths = {},
                                  any_exec const& exec = ss::exec::host{}) {
  variant_problem<T> p;
  p.lengths = std::move(lengths);
  p.x = tame_tensor<T>(e, seed);
  p.dy = tame_tensor<T>(e, seed + 1);
  poison_padding(p);
  p.y = p.dx = tensor<T>(e);
  m.make_runner()(exec, p.x.view(), p.y.view(), p.dy.view(), p.dx.view(), view_of(p.lengths));
  return p;
}

template <class T>
void compare_with_matrices(multi_case<T> const& m, variant_problem<T> const& p) {
  extents3 const e = p.x.extents();
  error_ratio forward, backward;
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      index_t const rows = p.rows(b);
      auto const x = p.x.column(b, c, rows), dy = p.dy.column(b, c, rows);
      auto const matrix = sorting_matrix(x, pattern_order{m.order}.ascending(c, e.channels));
      compare_column(m, matrix, false, x, p.y.column(b, c, rows), forward);
      compare_column(m, matrix, true, dy, p.dx.column(b, c, rows), backward);
      for (index_t n = rows; n < e.length; ++n) {
        CHECK(same_bits(p.y(b, n, c), p.x(b, n, c)));
        CHECK(same_bits(p.dx(b, n, c), p.dy(b, n, c)));
      }
    }
  CHECK(forward.max <= 1);
  CHECK(backward.max <= 1);
}

}  // namespace

TEST_CASE_TEMPLATE("golden values", T, float, double, float16, bfloat16) {
  check_golden<T>(1, {3, 1, 2, 0}, {0, 1, 2, 3});
  check_golden<T>(2, {3, 1, 2, 0}, {1.5, 1, 2, 1.5});
  check_golden<T>(4, {3, 1, 2, 0}, {1.5, 1, 2, 1.5});
  check_golden<T>(2, {.5, 2, -1, 1, 0}, {-.25, 1, -.25, 1, 1});
}

TEST_CASE_TEMPLATE("results match dense matrices within rounding bounds", T, float, double, float16,
                   bfloat16) {
  for (multi_case<T> const& m : multi_cases<T>()) {
    std::uint64_t seed = 0;
    for (extents3 e : variant_shapes()) {
      seed += 2;
      for_each_backend_once(seed, [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        compare_with_matrices(m, run_contiguous(m, e, seed, {}, exec));
        compare_with_matrices(m, run_contiguous(m, e, seed + 1, mixed_lengths(e), exec));
      });
    }
  }
}

TEST_CASE_TEMPLATE("same bits for every policy and layout", T, float, double, float16, bfloat16) {
  auto const cases = multi_cases<T>();
  for (multi_case<T> const& m : {cases[1], cases[4]}) {
    std::uint64_t seed = 100;
    for (extents3 e : variant_shapes()) {
      check_every_way(run_contiguous(m, e, ++seed), m.make_runner());
      check_every_way(run_contiguous(m, e, ++seed, mixed_lengths(e)),
                      m.template make_runner<std::uint16_t>());
    }
  }
}

TEST_CASE("the saved permutation equals slicing_sort's, and saving does not change results") {
  for (extents3 e : {extents3{3, 20, 33}, extents3{9, 11, 5}}) {
    auto const p = make_mixed_problem<float>(e, ordinary_kinds, 3, irregular, mixed_lengths(e));
    multi_case<float> const m{3, {}, irregular};
    auto const op = m.op();
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      guarded_workspace scratch(op.template workspace_bytes<float>(exec, e));
      tensor<float> y(e), y_without_saving(e);
      tensor<std::int32_t> perm(e);
      op.forward(exec, p.x.view(), ss::uniform_weights, y.view(), {perm.view()}, scratch.get(),
                 {p.lengths_view()});
      op.forward(exec, p.x.view(), ss::uniform_weights, y_without_saving.view(), ss::no_saved,
                 scratch.get(), {p.lengths_view()});
      CHECK(difference("perm", perm, p.perm) == "");
      CHECK(same_bits(y.elements(), y_without_saving.elements()));
      CHECK(scratch.red_zones_intact());
    });
  }
}

TEST_CASE("uniform weights equal a view of 1 / components") {
  extents3 const e{2, 30, 33};
  for (index_t components : {1, 3, 7}) {
    multi_case<float> const uniform{components, {}};
    multi_case<float> const explicit_weights{
        components, std::vector<float>(static_cast<std::size_t>(components),
                                       1 / static_cast<float>(components))};
    for_each_backend_once(static_cast<std::uint64_t>(components), [&](any_exec const& exec) {
      auto const a = run_contiguous(uniform, e, 5, {}, exec),
                 b = run_contiguous(explicit_weights, e, 5, {}, exec);
      CHECK(same_bits(a.y.elements(), b.y.elements()));
      CHECK(same_bits(a.dx.elements(), b.dx.elements()));
    });
  }
}

TEST_CASE("columns of more than 65536 rows") {
  extents3 const e{1, 70001, 2};
  multi_case<float> const m{3, {}, zigzag};
  for_each_backend_once(1, [&](any_exec const& exec) {
    auto const p = run_contiguous(m, e, 1, {}, exec);
    for (index_t c = 0; c < e.channels; ++c) {
      std::vector<float> const x = p.x.column(0, c);
      row_order const order = argsort_by_stable_sort(x, pattern_order{m.order}.ascending(c, 2));
      auto const permute = [&](std::vector<float> const& v) {
        std::vector<float> result(v.size());
        for (std::size_t n = 0; n < v.size(); ++n) result[n] = v[order[n]];
        return result;
      };
      auto const first_power = permute(x), second_power = permute(first_power),
                 third_power = permute(second_power);
      std::size_t mismatches = 0;
      for (std::size_t n = 0; n < x.size(); ++n) {
        long double const sum =
            (static_cast<long double>(first_power[n]) + second_power[n] + third_power[n]) / 3;
        long double const magnitude =
            (std::fabs(first_power[n]) + std::fabs(second_power[n]) + std::fabs(third_power[n])) /
            3;
        mismatches += std::fabs(p.y(0, static_cast<index_t>(n), c) - sum) >
                      rounding_bound(4, unit_roundoff<float>()) * magnitude;
      }
      CHECK(mismatches == 0);
    }
  });
}
