// SPDX-License-Identifier: Apache-2.0
// <slicesort/policies/host_gemm.hpp>: products in every layout
// against plain loops, and in parts of all sizes.
#include "support/gemm_layouts.hpp"

#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/policies/host_gemm.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <vector>

using namespace support;
namespace ss = slicesort;

namespace {

// With a workspace of exactly the bytes that it asks for.
struct with_workspace {
  ss::host_gemm gemm{};

  bool multiply(CUstream_st*, ss::gemm_call const& call) const {
    std::vector<std::byte> scratch(ss::host_gemm::workspace_bytes(call));
    return gemm.multiply(call, scratch);
  }
};
constexpr lie lies[] = {lie::rows, lie::rows_apart, lie::columns, lie::columns_apart,
                        lie::both_apart};

}  // namespace

TEST_CASE_TEMPLATE("every layout of every operand", T, float, double, float16, bfloat16) {
  for (lie a : lies)
    for (lie b : lies)
      for (lie c : lies)
        for (double beta : {0.0, 1.0})
          CHECK(multiplies<T>(with_workspace{}, 5, 7, 3, a, b, c, 0.5, beta));
}
TEST_CASE_TEMPLATE("sizes at the edges of blocks and panels", T, float, double) {
  for (index_t rows : {1, 8, 127, 129})
    for (index_t columns : {1, 16, 48, 49})
      for (index_t depth : {1, 256, 257})
        CHECK(multiplies<T>(with_workspace{}, rows, columns, depth, lie::rows, lie::rows, lie::rows,
                            1.0, 0.0));
}
TEST_CASE("the same bits on every instruction set") {
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512}) {
    if (!ss::detail::isa_available(set)) continue;
    CHECK(multiplies<float>(with_workspace{{set}}, 33, 50, 300, lie::rows, lie::columns, lie::rows,
                            1.0, 1.0));
    matrices<float> a(20, 300, 1, lie::rows, 1), b(300, 50, 1, lie::rows, 2);
    matrices<float> one(20, 50, 1, lie::rows, 3), two(20, 50, 1, lie::rows, 3);
    auto const call = [&](matrices<float>& c) {
      return ss::gemm_call{20, 50, 300, 1, 1, 1, a.said, b.said, c.said};
    };
    CHECK(with_workspace{}.multiply(nullptr, call(one)));
    CHECK(with_workspace{{set}}.multiply(nullptr, call(two)));
    CHECK(one.memory == two.memory);
  }
}
TEST_CASE("empty products") {
  CHECK(multiplies<float>(with_workspace{}, 3, 4, 0, lie::rows, lie::rows, lie::rows, 1.0, 0.0));
  CHECK(multiplies<float>(with_workspace{}, 0, 4, 2, lie::rows, lie::rows, lie::rows, 1.0, 0.0));
  CHECK(multiplies<float>(with_workspace{}, 3, 0, 2, lie::rows, lie::rows, lie::rows, 1.0, 1.0));
}
TEST_CASE("what it does not do it leaves alone") {
  CHECK(!multiplies<float>(with_workspace{}, 3, 4, 5, lie::rows, lie::rows, lie::rows, 1.0, 0.5));
  CHECK(!multiplies<float16, float>(with_workspace{}, 3, 4, 5, lie::rows, lie::rows, lie::rows, 1.0,
                                    0.0));
  matrices<float> a(4, 4, 1, lie::rows, 1), c(4, 4, 1, lie::rows, 3);
  std::vector<float> const before = c.memory;
  ss::gemm_call const call{4, 4, 4, 1, 1, 0, a.said, a.said, c.said};
  std::vector<std::byte> small(ss::host_gemm::workspace_bytes(call) - 1);
  CHECK(!ss::host_gemm{}.multiply(call, small));
  CHECK(c.memory == before);
  ss::scratch memory;
  CHECK(ss::host_gemm{}.multiply(call, memory));
  CHECK(c.memory != before);
}
TEST_CASE("a BLAS gets sizes of 32 bits") {
  constexpr index_t most = std::numeric_limits<int>::max(), beyond = most + 1;
  auto const fits = [](index_t rows, index_t columns, index_t row_stride) {
    ss::gemm_operand const m{nullptr, ss::element_kind::f32, row_stride, 1, 0};
    return ss::detail::layout_of(m, rows, columns).fits;
  };
  CHECK(fits(3, most, most));
  CHECK(fits(most, 3, 3));
  CHECK(!fits(3, beyond, beyond));
  CHECK(!fits(1, beyond, 1));
  CHECK(!fits(beyond, 3, 3));
  CHECK(!fits(3, 2, beyond));
}
