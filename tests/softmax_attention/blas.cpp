// SPDX-License-Identifier: Apache-2.0
// <slicesort/blas.hpp>: products in every layout that a BLAS can and cannot be told, and attention
// by them. Only linked with a BLAS.
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"

#include <slicesort/blas.hpp>
#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

template <class T>
constexpr ss::element_kind kind_of() {
  return std::is_same_v<T, float>    ? ss::element_kind::f32
         : std::is_same_v<T, double> ? ss::element_kind::f64
                                     : ss::element_kind::bf16;
}

// How the two axes of a matrix lie in memory.
enum class lie { rows, rows_apart, columns, columns_apart, both_apart };

template <class T>
struct matrices {
  index_t rows, columns, count;
  ss::gemm_operand said{};
  std::vector<T> memory;

  matrices(index_t r, index_t c, index_t n, lie how, std::uint64_t seed)
      : rows(r), columns(c), count(n) {
    index_t const gap = how == lie::rows_apart || how == lie::columns_apart ? 3 : 0;
    bool const by_columns = how == lie::columns || how == lie::columns_apart;
    said.kind = kind_of<T>();
    said.row_stride = by_columns ? 1 : (how == lie::both_apart ? 2 * c + 1 : c + gap);
    said.column_stride = by_columns ? r + gap : (how == lie::both_apart ? 2 : 1);
    said.matrix_stride = (r + 4) * (c + 4) * 2;
    memory.resize(static_cast<std::size_t>(said.matrix_stride * n + 1));
    random_stream random(seed);
    for (T& one : memory) one = static_cast<T>(random.normal());
    said.data = memory.data();
  }
  std::size_t place(index_t m, index_t r, index_t c) const {
    return static_cast<std::size_t>(m * said.matrix_stride + r * said.row_stride +
                                    c * said.column_stride);
  }
  T& operator()(index_t m, index_t r, index_t c) { return memory[place(m, r, c)]; }
};

// Whether it was done; if so that every element is right, and that no other was touched.
template <class T>
bool multiplies(index_t rows, index_t columns, index_t depth, lie a_lies, lie b_lies, lie c_lies,
                double alpha, double beta) {
  matrices<T> a(rows, depth, 2, a_lies, 1), b(depth, columns, 2, b_lies, 2),
      c(rows, columns, 2, c_lies, 3);
  auto want = c.memory;
  if (beta <= 0)  // not read
    for (index_t m = 0; m < 2; ++m)
      for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < columns; ++j) c(m, i, j) = static_cast<T>(1e30);
  std::vector<T> bound(want.size(), T(0));
  for (index_t m = 0; m < 2; ++m)
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < columns; ++j) {
        double sum = 0, size = 0;
        for (index_t k = 0; k < depth; ++k) {
          double const product = static_cast<double>(a(m, i, k)) * static_cast<double>(b(m, k, j));
          sum += product, size += std::abs(product);
        }
        std::size_t const at = c.place(m, i, j);
        double const before = beta > 0 ? beta * static_cast<double>(want[at]) : 0.0;
        double const unit = static_cast<double>(std::numeric_limits<T>::epsilon());
        want[at] = static_cast<T>(alpha * sum + before);
        bound[at] = static_cast<T>((alpha * size + std::abs(before)) * unit *
                                   static_cast<double>(depth + 4));
      }
  auto const untouched = c.memory;
  ss::gemm_call const call{rows, columns, depth, 2, alpha, beta, a.said, b.said, c.said};
  bool const done = ss::cblas{}.multiply(nullptr, call);
  if (!done) {
    CHECK(same_bits(c.memory, untouched));
    return false;
  }
  int wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(std::abs(c.memory[i] - want[i]) <= bound[i])) ++wrong;
  CHECK(wrong == 0);
  return true;
}

TEST_CASE_TEMPLATE("every layout that a BLAS knows", T, float, double) {
  for (lie a : {lie::rows, lie::rows_apart, lie::columns, lie::columns_apart})
    for (lie b : {lie::rows, lie::rows_apart, lie::columns, lie::columns_apart})
      for (lie c : {lie::rows, lie::rows_apart})
        for (double beta : {0.0, 1.0}) CHECK(multiplies<T>(5, 7, 3, a, b, c, 0.5, beta));
}
TEST_CASE_TEMPLATE("single rows and columns", T, float, double) {
  for (index_t rows : {1, 4})
    for (index_t columns : {1, 4})
      for (index_t depth : {1, 4})
        for (lie how : {lie::rows, lie::columns_apart})
          CHECK(multiplies<T>(rows, columns, depth, how, how, lie::rows, 1.0, 0.0));
}
TEST_CASE("what a BLAS cannot be told is left alone") {
  CHECK(!multiplies<float>(3, 4, 5, lie::both_apart, lie::rows, lie::rows, 1.0, 0.0));
  CHECK(!multiplies<float>(3, 4, 5, lie::rows, lie::both_apart, lie::rows, 1.0, 0.0));
  CHECK(!multiplies<float>(3, 4, 5, lie::rows, lie::rows, lie::columns, 1.0, 0.0));
  ss::gemm_call call{2, 2, 2, 1, 1.0, 0.0, {}, {}, {}};
  call.a.kind = call.b.kind = call.c.kind = ss::element_kind::bf16;
  CHECK(!ss::cblas{}.multiply(nullptr, call));
  call.c.kind = ss::element_kind::f32;
  CHECK(!ss::cblas{}.multiply(nullptr, call));
  call.a.kind = call.b.kind = ss::element_kind::f32;
  call.a.row_stride = index_t{1} << 32, call.a.column_stride = 1;
  CHECK(!ss::cblas{}.multiply(nullptr, call));
}

// Attention forward and backward, materialized by a BLAS and streaming, on [batch, length, heads *
// channels].
template <class T, class Algorithm>
std::vector<T> attended(ss::extents3 e, index_t heads, unsigned threads) {
  using op_type = ss::softmax_attention<ss::mask::causal, Algorithm>;
  op_type const op{ss::mask::causal{2}};
  auto const size = static_cast<std::size_t>(e.size());
  std::vector<T> in(4 * size), out(4 * size);
  random_stream random(7);
  for (T& one : in) one = static_cast<T>(random.normal());
  auto const from = [&](std::size_t i) {
    return split_heads(ss::tensor3<T const>(in.data() + i * size, e), heads);
  };
  auto const to = [&](std::size_t i) {
    return split_heads(ss::tensor3<T>(out.data() + i * size, e), heads);
  };
  ss::extents4 const shape = from(0).extents(), saved = op.saved_extents(shape, shape);
  ss::exec::host const on{threads};
  std::vector<T> state(static_cast<std::size_t>(saved.size()));
  guarded_workspace scratch(op.template workspace_bytes<T>(on, shape, shape));
  op.forward(on, {from(0), from(1), from(2)}, to(0), {ss::tensor4<T>(state.data(), saved)},
             scratch.get());
  op.backward(on, from(3), {from(0), from(1), from(2)}, to(0),
              {ss::tensor4<T const>(state.data(), saved)}, {to(1), to(2), to(3)}, scratch.get());
  CHECK(scratch.red_zones_intact());
  return out;
}

TEST_CASE_TEMPLATE("attention by a BLAS is attention", T, float, double) {
  for (index_t length : {1, 2, 37, 130})
    for (unsigned threads : {1u, 2u}) {
      ss::extents3 const e{2, length, 24};
      auto const one = attended<T, ss::materialized<ss::cblas>>(e, 3, threads);
      auto const other = attended<T, ss::streaming>(e, 3, threads);
      double worst = 0;
      for (std::size_t i = 0; i < one.size(); ++i)
        worst = std::max(worst, static_cast<double>(std::abs(one[i] - other[i])));
      // Normal inputs: sums of 130 terms of size about 1, a few roundings each.
      CHECK(worst <= 2000 * static_cast<double>(std::numeric_limits<T>::epsilon()));
    }
}

}  // namespace
