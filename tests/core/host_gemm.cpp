// SPDX-License-Identifier: Apache-2.0
// host_gemm: products in every layout and at block edges, against plain loops.
#include "support/gemm_layouts.hpp"

#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/host_gemm.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <vector>

using namespace support;
namespace ss = slicesort;

namespace {

// Multiplies with a workspace of exactly workspace_bytes.
struct gemm_with_workspace {
  ss::host_gemm gemm{};

  bool multiply(CUstream_st*, ss::gemm_call const& call) const {
    std::vector<std::byte> scratch(ss::host_gemm::workspace_bytes(call));
    return gemm.multiply(call, scratch);
  }
};
constexpr matrix_layout layouts[] = {matrix_layout::rows, matrix_layout::rows_apart,
                                     matrix_layout::columns, matrix_layout::columns_apart,
                                     matrix_layout::strided};

}  // namespace

TEST_CASE_TEMPLATE("every layout of every operand", T, float, double, float16, bfloat16) {
  for (matrix_layout a : layouts)
    for (matrix_layout b : layouts)
      for (matrix_layout c : layouts)
        for (double beta : {0.0, 1.0}) {
          CHECK(multiplies<T>(gemm_with_workspace{}, 5, 7, 3, a, b, c, 0.5, beta));
          CHECK(multiplies<T>(gemm_with_workspace{}, 8, 16, 3, a, b, c, 0.5, beta));  // in place
        }
}
TEST_CASE_TEMPLATE("sizes at the edges of blocks and panels", T, float, double, bfloat16) {
  struct size {
    index_t rows, columns, depth;
  };
  for (size n : {size{1, 1, 1}, size{8, 96, 256}, size{127, 16, 257}, size{128, 97, 2},
                 size{129, 95, 1}, size{136, 112, 257}})
    for (matrix_layout a : {matrix_layout::rows, matrix_layout::columns})
      for (double beta : {0.0, 1.0})
        CHECK(multiplies<T>(gemm_with_workspace{}, n.rows, n.columns, n.depth, a,
                            matrix_layout::rows, matrix_layout::rows, 1.0, beta));
}
// An odd number of rows and columns is packed and computed in the workspace.
TEST_CASE_TEMPLATE("products in place have the bits of products in the workspace", T, float,
                   double) {
  constexpr index_t columns = 32;
  for (index_t rows : {8, 120})
    for (index_t depth : {1, 256, 300})
      for (matrix_layout a_layout : layouts)
        for (double beta : {0.0, 1.0}) {
          matrices<T> const a(rows + 1, depth, 1, a_layout, 1),
              b(depth, columns + 1, 1, matrix_layout::rows, 2);
          matrices<T> in_place(rows, columns, 1, matrix_layout::rows_apart, 3),
              larger(rows + 1, columns + 1, 1, matrix_layout::rows, 4);
          auto const for_each_element = [&](auto f) {
            for (index_t r = 0; r < rows; ++r)
              for (index_t c = 0; c < columns; ++c) f(larger(0, r, c), in_place(0, r, c));
          };
          for_each_element([](T& to, T from) { to = from; });
          auto const multiply = [&](matrices<T>& c) {
            return gemm_with_workspace{}.multiply(
                nullptr, {c.rows, c.columns, depth, 1, 0.5, beta, a.operand, b.operand, c.operand});
          };
          CHECK((multiply(in_place) && multiply(larger)));
          bool equal = true;
          for_each_element([&](T x, T y) { equal = equal && x == y; });
          CHECK(equal);
        }
}
#if !defined(__FAST_MATH__)
TEST_CASE_TEMPLATE("a NaN has the same bits in place and in the workspace", T, float, double) {
  using bits = ss::detail::bits_t<T>;
  constexpr bits canonical = ss::detail::nan_bits<T>;
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512})
    for (index_t padding : {0, 1})
      for (index_t depth : {1, 300})
        for (double beta : {0.0, 1.0}) {
          if (!ss::detail::is_isa_available(set)) continue;
          index_t const rows = 8 + padding, columns = 48 + padding;
          matrices<T> a(rows, depth, 1, matrix_layout::rows, 1),
              b(depth, columns, 1, matrix_layout::rows, 2),
              c(rows, columns, 1, matrix_layout::rows, 3);
          a(0, 1, 0) = ss::detail::bit_cast<T>(canonical | ss::detail::sign_bit<bits> | 0x123);
          a(0, 2, 0) = std::numeric_limits<T>::infinity();
          b(0, 0, 4) = T(0);
          CHECK(gemm_with_workspace{{set}}.multiply(
              nullptr, {rows, columns, depth, 1, 0.5, beta, a.operand, b.operand, c.operand}));
          for (index_t i : {1, 2})
            for (index_t j = 0; j < columns; ++j)
              if (i == 1 || j == 4) CHECK(ss::detail::bit_cast<bits>(c(0, i, j)) == canonical);
          CHECK(c(0, 0, 0) == c(0, 0, 0));
        }
}
#endif
TEST_CASE("the same bits on every instruction set") {
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512}) {
    if (!ss::detail::is_isa_available(set)) continue;
    CHECK(multiplies<float>(gemm_with_workspace{{set}}, 33, 50, 300, matrix_layout::rows,
                            matrix_layout::columns, matrix_layout::rows, 1.0, 1.0));
    matrices<float> a(20, 300, 1, matrix_layout::rows, 1), b(300, 50, 1, matrix_layout::rows, 2);
    matrices<float> baseline(20, 50, 1, matrix_layout::rows, 3),
        result(20, 50, 1, matrix_layout::rows, 3);
    auto const call = [&](matrices<float>& c) {
      return ss::gemm_call{20, 50, 300, 1, 1, 1, a.operand, b.operand, c.operand};
    };
    CHECK(gemm_with_workspace{}.multiply(nullptr, call(baseline)));
    CHECK(gemm_with_workspace{{set}}.multiply(nullptr, call(result)));
    CHECK(baseline.memory == result.memory);
  }
}
TEST_CASE("empty products") {
  CHECK(multiplies<float>(gemm_with_workspace{}, 3, 4, 0, matrix_layout::rows, matrix_layout::rows,
                          matrix_layout::rows, 1.0, 0.0));
  CHECK(multiplies<float>(gemm_with_workspace{}, 0, 4, 2, matrix_layout::rows, matrix_layout::rows,
                          matrix_layout::rows, 1.0, 0.0));
  CHECK(multiplies<float>(gemm_with_workspace{}, 3, 0, 2, matrix_layout::rows, matrix_layout::rows,
                          matrix_layout::rows, 1.0, 1.0));
}
TEST_CASE("unsupported products write nothing") {
  CHECK(!multiplies<float>(gemm_with_workspace{}, 3, 4, 5, matrix_layout::rows, matrix_layout::rows,
                           matrix_layout::rows, 1.0, 0.5));
  CHECK(!multiplies<float16, float>(gemm_with_workspace{}, 3, 4, 5, matrix_layout::rows,
                                    matrix_layout::rows, matrix_layout::rows, 1.0, 0.0));
  matrices<float> a(4, 4, 1, matrix_layout::rows, 1), c(4, 4, 1, matrix_layout::rows, 3);
  std::vector<float> const initial_c = c.memory;
  ss::gemm_call const call{4, 4, 4, 1, 1, 0, a.operand, a.operand, c.operand};
  std::vector<std::byte> small(ss::host_gemm::workspace_bytes(call) - 1);
  CHECK(!ss::host_gemm{}.multiply(call, small));
  CHECK(c.memory == initial_c);
  ss::scratch memory;
  CHECK(ss::host_gemm{}.multiply(call, memory));
  CHECK(c.memory != initial_c);
}
TEST_CASE("sizes for a BLAS must fit in 32 bits") {
  constexpr index_t max_int = std::numeric_limits<int>::max(), beyond = max_int + 1;
  auto const fits = [](index_t rows, index_t columns, index_t row_stride) {
    ss::gemm_operand const m{nullptr, ss::element_kind::f32, row_stride, 1, 0};
    return ss::detail::layout_of(m, rows, columns).fits;
  };
  CHECK(fits(3, max_int, max_int));
  CHECK(fits(max_int, 3, 3));
  CHECK(!fits(3, beyond, beyond));
  CHECK(!fits(1, beyond, 1));
  CHECK(!fits(beyond, 3, 3));
  CHECK(!fits(3, 2, beyond));
}
TEST_CASE("the stride of an axis with one element is ignored") {
  ss::gemm_operand const m{nullptr, ss::element_kind::f32, 5, 7, 0};
  CHECK(ss::detail::layout_of(m, 3, 1).leading == 5);
  CHECK(ss::detail::layout_of(m, 1, 3).leading == 7);
  CHECK(!ss::detail::layout_of(m, 2, 2).fits);
}
