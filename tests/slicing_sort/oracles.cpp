// SPDX-License-Identifier: Apache-2.0
// Tests of slicing_sort against three independent oracles, and of its backward against the exact
// adjoint.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

using namespace support;

TEST_CASE_TEMPLATE("the three oracles agree with each other", T, float, double, float16, bfloat16) {
  for (std::size_t n : {0u, 1u, 2u, 3u, 7u, 16u, 33u, 64u})
    for (int k = 0; k < all_kinds; ++k)
      for (bool ascending : {true, false}) {
        auto const column = make_column<T>(static_cast<input_kind>(k), n, 11 * n);
        row_order const sorted = argsort_by_stable_sort(column, ascending);
        CAPTURE(std::string(kind_name(static_cast<input_kind>(k))));
        CAPTURE(n);
        CHECK(sorted == argsort_by_ranks(column, ascending));
        permutation_matrix const p(sorted), q = sorting_matrix(column, ascending);
        for (std::size_t i = 0; i < n; ++i) CHECK(q(i, sorted[i]) == 1);
        CHECK(same_bits(p.times(column), q.times(column)));
      }
}

namespace {

template <class T>
struct sort_outputs {
  tensor<T> y, dx;
  tensor<std::uint16_t> perm;
};

template <class T>
sort_outputs<T> run_sort(tensor<T> const& x, tensor<T> const& dy, std::uint64_t order,
                         any_exec const& exec) {
  extents3 const e = x.extents();
  sort_outputs<T> outputs{garbage_tensor<T>(e), garbage_tensor<T>(e),
                          garbage_tensor<std::uint16_t>(e)};
  ss::slicing_sort<pattern_order> const op(pattern_order{order});
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
  op.forward(exec, x.view(), outputs.y.view(), {outputs.perm.view()}, scratch.get());
  op.backward(exec, dy.view(), {outputs.perm.view()}, outputs.dx.view(), scratch.get());
  return outputs;
}

}  // namespace

TEST_CASE_TEMPLATE("forward is P x and backward is P^T dy, with dense P", T, float, bfloat16) {
  for (index_t n = 1; n <= 64; ++n) {
    auto const p =
        make_mixed_problem<T>({1, n, 35}, all_kinds, static_cast<std::uint64_t>(3 * n), irregular);
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
      auto const outputs = run_sort(p.x, p.dy, p.order, exec);
      CAPTURE(p.describe());
      CAPTURE(describe_exec(exec));
      bool y_correct = true, dx_correct = true, perm_correct = true;
      for (index_t c = 0; c < 35; ++c) {
        bool const ascending = pattern_order{irregular}.ascending(c, 35);
        auto const column = p.x.column(0, c);
        permutation_matrix const matrix = sorting_matrix(column, ascending);
        y_correct = y_correct && same_bits(matrix.times(column), outputs.y.column(0, c));
        dx_correct = dx_correct &&
                     same_bits(matrix.transpose_times(p.dy.column(0, c)), outputs.dx.column(0, c));
        auto const perm = outputs.perm.column(0, c);
        perm_correct = perm_correct &&
                       row_order(perm.begin(), perm.end()) == argsort_by_ranks(column, ascending);
      }
      CHECK(y_correct);
      CHECK(dx_correct);
      CHECK(perm_correct);
    });
  }
}

// Measures the Jacobian J instead of assuming it: integers with spacing 4 keep their order after a
// step of -1, 0 or 1, so forward(x + v) - forward(x) is J v without rounding. Then
// <dy, J v> = <J^T dy, v> must hold exactly.
TEST_CASE_TEMPLATE("backward is the exact adjoint of the measured Jacobian", T, float, double) {
  for (index_t n : {1, 2, 5, 64, 100, 257}) {
    extents3 const e{2, n, 33};
    random_stream random(static_cast<std::uint64_t>(n));
    tensor<T> x(e), shifted(e), dy(e), v(e);
    for (index_t b = 0; b < 2; ++b)
      for (index_t c = 0; c < 33; ++c) {
        std::vector<T> column(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < column.size(); ++i)
          column[i] = static_cast<T>(4 * static_cast<int>(i) - 2 * static_cast<int>(n));
        shuffle_rows(column, random);
        x.set_column(b, c, column);
      }
    for (std::size_t i = 0; i < x.elements().size(); ++i) {
      v.elements()[i] = static_cast<T>(static_cast<int>(random.below(3)) - 1);
      dy.elements()[i] = static_cast<T>(static_cast<int>(random.below(21)) - 10);
      shifted.elements()[i] = x.elements()[i] + v.elements()[i];
    }
    for_each_backend(static_cast<std::uint64_t>(n), [&](any_exec const& exec) {
      auto const at_x = run_sort(x, dy, irregular, exec);
      auto const at_shifted = run_sort(shifted, dy, irregular, exec);
      std::int64_t forward_product = 0, backward_product = 0, nonzero_count = 0;
      for (std::size_t i = 0; i < x.elements().size(); ++i) {
        auto const jv =
            static_cast<std::int64_t>(at_shifted.y.elements()[i] - at_x.y.elements()[i]);
        forward_product += static_cast<std::int64_t>(dy.elements()[i]) * jv;
        backward_product += static_cast<std::int64_t>(at_x.dx.elements()[i]) *
                            static_cast<std::int64_t>(v.elements()[i]);
        nonzero_count += jv != 0;
      }
      CHECK(forward_product == backward_product);
      CHECK(nonzero_count > 0);  // the test must not be trivial
    });
  }
}
