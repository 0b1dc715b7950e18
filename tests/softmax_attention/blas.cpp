// SPDX-License-Identifier: Apache-2.0
// policies/blas.hpp: products in supported and unsupported layouts, and attention with a BLAS.
// Built only if there is a BLAS.
#include "support/gemm_layouts.hpp"

#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"

#include <slicesort/policies/blas.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace support;

namespace {

TEST_CASE_TEMPLATE("every supported layout", T, float, double) {
  for (matrix_layout a : {matrix_layout::rows, matrix_layout::rows_apart, matrix_layout::columns,
                          matrix_layout::columns_apart})
    for (matrix_layout b : {matrix_layout::rows, matrix_layout::rows_apart, matrix_layout::columns,
                            matrix_layout::columns_apart})
      for (matrix_layout c : {matrix_layout::rows, matrix_layout::rows_apart})
        for (double beta : {0.0, 1.0})
          CHECK(multiplies<T>(ss::cblas{}, 5, 7, 3, a, b, c, 0.5, beta));
}
TEST_CASE_TEMPLATE("single rows and columns", T, float, double) {
  for (index_t rows : {1, 4})
    for (index_t columns : {1, 4})
      for (index_t depth : {1, 4})
        for (matrix_layout layout : {matrix_layout::rows, matrix_layout::columns_apart})
          CHECK(multiplies<T>(ss::cblas{}, rows, columns, depth, layout, layout,
                              matrix_layout::rows, 1.0, 0.0));
}
TEST_CASE("unsupported layouts are rejected") {
  CHECK(!multiplies<float>(ss::cblas{}, 3, 4, 5, matrix_layout::strided, matrix_layout::rows,
                           matrix_layout::rows, 1.0, 0.0));
  CHECK(!multiplies<float>(ss::cblas{}, 3, 4, 5, matrix_layout::rows, matrix_layout::strided,
                           matrix_layout::rows, 1.0, 0.0));
  CHECK(!multiplies<float>(ss::cblas{}, 3, 4, 5, matrix_layout::rows, matrix_layout::rows,
                           matrix_layout::columns, 1.0, 0.0));
  ss::gemm_call call{2, 2, 2, 1, 1.0, 0.0, {}, {}, {}};
  call.a.kind = call.b.kind = call.c.kind = ss::element_kind::bf16;
  CHECK(!ss::cblas{}.multiply(nullptr, call));
  call.c.kind = ss::element_kind::f32;
  CHECK(!ss::cblas{}.multiply(nullptr, call));
  call.a.kind = call.b.kind = ss::element_kind::f32;
  call.a.row_stride = index_t{1} << 32, call.a.column_stride = 1;
  CHECK(!ss::cblas{}.multiply(nullptr, call));
}

// Runs attention forward and backward on [batch, length, heads * channels].
template <class T, class Algorithm>
std::vector<T> run_packed_attention(ss::extents3 e, index_t heads, unsigned threads) {
  using op_type = ss::softmax_attention<ss::mask::causal, Algorithm>;
  op_type const op{ss::mask::causal{2}};
  auto const size = static_cast<std::size_t>(e.size());
  std::vector<T> input(4 * size), output(4 * size);
  random_stream random(7);
  for (T& element : input) element = static_cast<T>(random.normal());
  auto const input_view = [&](std::size_t i) {
    return split_heads(ss::tensor3<T const>(input.data() + i * size, e), heads);
  };
  auto const output_view = [&](std::size_t i) {
    return split_heads(ss::tensor3<T>(output.data() + i * size, e), heads);
  };
  ss::extents4 const shape = input_view(0).extents(), saved = op.saved_extents(shape, shape);
  ss::exec::host const exec{threads};
  std::vector<T> state(static_cast<std::size_t>(saved.size()));
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, shape, shape));
  op.forward(exec, {input_view(0), input_view(1), input_view(2)}, output_view(0),
             {ss::tensor4<T>(state.data(), saved)}, scratch.get());
  op.backward(exec, input_view(3), {input_view(0), input_view(1), input_view(2)}, output_view(0),
              {ss::tensor4<T const>(state.data(), saved)},
              {output_view(1), output_view(2), output_view(3)}, scratch.get());
  CHECK(scratch.red_zones_intact());
  return output;
}

TEST_CASE_TEMPLATE("attention with a BLAS matches streaming attention", T, float, double) {
  constexpr index_t heads = 3;
  for (index_t length : {1, 2, 37, 130})
    for (unsigned threads : {1u, 2u}) {
      ss::extents3 const e{2, length, 24};
      auto const by_blas = run_packed_attention<T, ss::materialized<ss::cblas>>(e, heads, threads);
      auto const by_loops = run_packed_attention<T, ss::streaming>(e, heads, threads);
      double largest = 0;
      for (T element : by_loops)
        largest = std::max(largest, static_cast<double>(std::abs(element)));
      // A result depends on three sums over channels (a score, a weight gradient, their mean) and
      // two over rows. Terms are at most as large as the results, and are summed in any order.
      auto const roundings = static_cast<double>(3 * e.channels / heads + 2 * length);
      double const bound =
          roundings * largest * static_cast<double>(std::numeric_limits<T>::epsilon());
      int violations = 0;
      for (std::size_t i = 0; i < by_blas.size(); ++i)
        if (!(static_cast<double>(std::abs(by_blas[i] - by_loops[i])) <= bound))
          ++violations;  // also counts NaN
      CHECK(violations == 0);
    }
}

}  // namespace
