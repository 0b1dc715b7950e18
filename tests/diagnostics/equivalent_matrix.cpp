// SPDX-License-Identifier: Apache-2.0
// Equivalent matrices of all operators. Their products with x equal the outputs. Permuting
// operators have permutation matrices. With ceil_log2 factors, CHORD and CDIL connect all rows.
#include <slicesort/equivalent_matrix.hpp>

#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/inputs.hpp"
#include "support/problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace support;
using ss::equivalent_matrix;

namespace {

constexpr extents3 shape{3, 13, 5};
std::vector<index_t> const& ragged() {
  static std::vector<index_t> const lengths = {13, 6, 1};
  return lengths;
}

// Checks that the matrix of every column times x is y, up to `relative` of the sum of magnitudes.
template <class T, class MatrixOf>
void check_product(tensor<T> const& x, tensor<T> const& y, double relative,
                   MatrixOf const& matrix_of) {
  for (index_t b = 0; b < shape.batch; ++b)
    for (index_t c = 0; c < shape.channels; ++c) {
      ss::dense_matrix const matrix = matrix_of(b, c);
      REQUIRE(matrix.size == shape.length);
      for (index_t n = 0; n < shape.length; ++n) {
        double sum = 0, magnitude = 0;
        for (index_t j = 0; j < shape.length; ++j) {
          sum += matrix(n, j) * ss::detail::as_double(x(b, j, c));
          magnitude += std::fabs(matrix(n, j) * ss::detail::as_double(x(b, j, c)));
        }
        CHECK(std::fabs(sum - ss::detail::as_double(y(b, n, c))) <= relative * magnitude);
      }
    }
}
void check_permutation(ss::dense_matrix const& matrix) {
  for (index_t i = 0; i < matrix.size; ++i) {
    double row_sum = 0, column_sum = 0;
    for (index_t j = 0; j < matrix.size; ++j) {
      CHECK((matrix(i, j) == 0 || matrix(i, j) == 1));
      row_sum += matrix(i, j);
      column_sum += matrix(j, i);
    }
    CHECK(row_sum == 1);
    CHECK(column_sum == 1);
  }
}

// Runs `forward` on the host and checks the matrices of its columns.
template <class T, class Forward, class MatrixOf>
void check_operator(double relative, bool is_permutation, Forward const& forward,
                    MatrixOf const& matrix_of) {
  tensor<T> const x = integer_tensor<T>(shape, 40, 7);
  tensor<T> y(shape);
  std::vector<unsigned char> scratch(1 << 20);
  for (std::vector<index_t> const& lengths : {std::vector<index_t>(), ragged()}) {
    ss::forward_options const options{view_of(lengths)};
    forward(x.view(), y.view(), ss::workspace{scratch.data(), scratch.size()}, options);
    check_product(x, y, relative, [&](index_t b, index_t c) {
      ss::dense_matrix const matrix = matrix_of(x.view(), b, c, options);
      if (is_permutation) check_permutation(matrix);
      return matrix;
    });
  }
}

template <class Op>
void check_permuting_operator(Op const& op) {
  check_operator<double>(
      0, true,
      [&](auto x, auto y, auto scratch, auto options) {
        op.forward(ss::exec::host{}, x, y, ss::no_saved, scratch, options);
      },
      [&](auto x, index_t b, index_t c, auto options) {
        return equivalent_matrix(op, x, b, c, options);
      });
}

}  // namespace

TEST_CASE("soft_sort and soft_rank") {
  tensor<double> x(shape), y(shape);
  random_stream random(2);
  for (double& v : x.elements()) v = random.normal();
  for (index_t c = 0; c < shape.channels; ++c) {
    // A small strength sorts, a large one averages.
    CHECK(equivalent_matrix(ss::soft_sort{1e-3}, x.view(), 1, c).elements ==
          equivalent_matrix(ss::slicing_sort<>{}, x.view(), 1, c).elements);
    for (double v : equivalent_matrix(ss::soft_sort{1e3}, x.view(), 1, c).elements)
      CHECK(std::fabs(v - 1.0 / 13) < 1e-15);
    // Every rank becomes (x - mean) / strength + 7.
    ss::dense_matrix const ranks = equivalent_matrix(ss::soft_rank{1e3}, x.view(), 1, c);
    for (index_t i = 0; i < 13; ++i)
      for (index_t j = 0; j < 13; ++j)
        CHECK(std::fabs(ranks(i, j) - ((i == j) - 1.0 / 13) / 1e3) < 1e-15);
  }
}

TEST_CASE("permutations") {
  check_permuting_operator(ss::slicing_sort<>{});
  check_permuting_operator(ss::slicing_sort<ss::descending>{});
  check_permuting_operator(ss::max_exchange{});
  for (index_t group : {1, 2, 3, 13}) {
    check_permuting_operator(ss::csp{ss::group_size{group}});
    check_permuting_operator(
        ss::csp{ss::group_size{group}, ss::shift::linear_step{2}, ss::ascending{}});
  }
  ss::shuffle<ss::per_channel> const op{9};
  check_operator<double>(
      0, true,
      [&](auto x, auto y, auto scratch, auto options) {
        op.forward(ss::exec::host{}, x, y, scratch, options);
      },
      [&](auto x, index_t b, index_t c, auto options) {
        return equivalent_matrix(op, x, b, c, options);
      });
}

TEST_CASE("permute") {
  // `perm` is a permutation, since 5 is coprime to the lengths. Padding rows have invalid indices.
  for (std::vector<index_t> const& lengths : {std::vector<index_t>(), ragged()}) {
    tensor<std::uint16_t> perm(shape);
    for_each_position(shape, [&](index_t b, index_t n, index_t c) {
      index_t const rows = lengths.empty() ? shape.length : lengths[static_cast<std::size_t>(b)];
      index_t const row = n < rows ? (5 * n + 7 * c) % rows : 60000;
      perm(b, n, c) = static_cast<std::uint16_t>(row);
    });
    tensor<float> const x = integer_tensor<float>(shape, 40, 7);
    tensor<float> y(shape);
    std::vector<unsigned char> scratch(1 << 16);
    ss::forward_options const options{view_of(lengths)};
    ss::permute const op;
    op.forward(ss::exec::host{}, x.view(), {perm.view()}, y.view(), scratch, options);
    check_product(x, y, 0, [&](index_t b, index_t c) {
      ss::dense_matrix const matrix = equivalent_matrix(op, x.view(), {perm.view()}, b, c, options);
      check_permutation(matrix);
      return matrix;
    });
  }
  tensor<float> const x(shape);
  tensor<std::uint32_t> const short_perm({3, 12, 5});
  CHECK(error_message([&] {
          (void)equivalent_matrix(ss::permute{}, x.view(), {short_perm.view()}, 0, 0);
        }) == "equivalent_matrix: perm.length is 12, must be 13 (x.length)");
}

TEST_CASE("short_convolution") {
  for (index_t groups : {1, 5}) {
    ss::short_convolution const op(4, 1);
    tensor<float> const weights = integer_tensor<float>({1, 4, groups}, 8, 3);
    check_operator<float>(
        0, false,
        [&](auto x, auto y, auto w, auto o) {
          op.forward(ss::exec::host{}, x, weights.view(), y, w, o);
        },
        [&](auto x, index_t b, index_t c, auto o) {
          return equivalent_matrix(op, x, weights.view(), b, c, o);
        });
  }
  tensor<float> const x(shape), weights({1, 4, 2});
  CHECK(error_message([&] {
          (void)equivalent_matrix(ss::short_convolution(4, 1), x.view(), weights.view(), 0, 0);
        }) ==
        "equivalent_matrix: weights.channels is 2, must divide 5 (x.channels): a filter for "
        "each group of channels");
}

TEST_CASE("decaying_sum") {
  for (auto numbers : {ss::decay_numbers::real, ss::decay_numbers::complex}) {
    ss::decaying_sum const op(2, numbers, ss::decay_direction::both);
    std::vector<float> values;
    for (index_t i = 0; i < op.numbers() * shape.channels; ++i)
      values.push_back(static_cast<float>(i % 7 - 3) / 4);
    ss::tensor4<float const> const a(values.data(), {1, op.numbers(), 1, shape.channels});
    for (ss::tensor4<float const> w : {a, ss::tensor4<float const>()})
      check_operator<float>(
          1e-6, false,
          [&](auto x, auto y, auto memory, auto options) {
            op.forward(ss::exec::host{}, x, {a, w}, y, {}, memory, options);
          },
          [&](auto x, index_t b, index_t c, auto options) {
            return equivalent_matrix(op, x, ss::decay_inputs<float>{a, w}, b, c, options);
          });
  }
  tensor<float> const x(shape);
  ss::tensor4<float const> const a(x.view().data(), {1, 2, 1, 5});
  CHECK(error_message([&] {
          (void)equivalent_matrix(ss::decaying_sum{}, x.view(), ss::decay_inputs<float>{a}, 0, 0);
        }) == "equivalent_matrix: a and w must be [1, 1, 1, 5], constant along the length");
}

TEST_CASE("multi_permutation") {
  ss::multi_permutation<> const op{3};
  std::vector<double> const weight_values = {0.5, -2, 0.25};
  ss::tensor1<double const> const weights(weight_values.data(), 3);
  auto const check = [&](auto const& w_view) {
    check_operator<double>(
        1e-15, false,
        [&](auto x, auto y, auto scratch, auto options) {
          op.forward(ss::exec::host{}, x, w_view, y, ss::no_saved, scratch, options);
        },
        [&](auto x, index_t b, index_t c, auto options) {
          return equivalent_matrix(op, x, w_view, b, c, options);
        });
  };
  check(weights);
  check(ss::uniform_weights);
}

TEST_CASE("sinkhorn: the operator's own result") {
  extents3 const e{2, 5, 6};
  tensor<float> const logits = integer_tensor<float>(e, 8, 3);
  tensor<double> x(e), y(e);
  for (std::size_t k = 0; k < x.elements().size(); ++k)
    x.elements()[k] = static_cast<double>(logits.elements()[k]);
  std::vector<index_t> const rows = {5, 3}, columns = {5, 4};
  ss::row_and_column_lengths const lengths(ss::lengths(rows), ss::lengths(columns));
  ss::sinkhorn const op{3, {3, ss::side::rows}};
  ss::scratch memory;
  op.forward(ss::exec::host{}, x.view(), y.view(), memory, lengths);
  for (index_t b = 0; b < e.batch; ++b) {
    ss::dense_matrix const matrix = equivalent_matrix(op, logits.view(), b, lengths);
    for (index_t i = 0; i < 5; ++i)
      for (index_t j = 0; j < 6; ++j) CHECK(matrix(i, j) == y(b, i, j));
  }
  CHECK(error_message([&] { (void)equivalent_matrix(op, logits.view(), 2); }) ==
        "equivalent_matrix: batch is 2, must be in 0..1");
}

TEST_CASE("sinkhorn_csp: doubly stochastic after convergence") {
  for (index_t group : {1, 4, 13}) {
    ss::sinkhorn_csp const op{ss::group_size{group}, ss::sinkhorn{1000, 60}, ss::shift::linear{},
                              ss::reference{1}};
    check_operator<double>(
        1e-12, false,
        [&](auto x, auto y, auto scratch, auto options) {
          op.forward(ss::exec::host{}, x, y, scratch, options);
        },
        [&](auto x, index_t b, index_t c, auto options) {
          ss::dense_matrix const matrix = equivalent_matrix(op, x, b, c, options);
          for (index_t i = 0; i < matrix.size; ++i) {
            double row_sum = 0, column_sum = 0;
            for (index_t j = 0; j < matrix.size; ++j) {
              CHECK(matrix(i, j) >= 0);
              row_sum += matrix(i, j);
              column_sum += matrix(j, i);
            }
            CHECK(row_sum == doctest::Approx(1).epsilon(1e-6));
            CHECK(column_sum == doctest::Approx(1).epsilon(1e-12));
          }
          if (c == 1) check_permutation(matrix);
          return matrix;
        });
  }
}

TEST_CASE_TEMPLATE("sparse_mix, with every residual", T, double, float16) {
  ss::stack_extents const weight_shape{3, shape.batch, shape.length, 4};
  random_stream random(5);
  std::vector<T> weight_values(static_cast<std::size_t>(weight_shape.size()));
  for (T& w : weight_values) w = from_double<T>(static_cast<double>(random.below(5)) - 2);
  ss::tensor_stack<T const> const w(weight_values.data(), weight_shape);
  auto const check = [&](auto const& op) {
    check_operator<T>(
        0, false,  // small integers: exact
        [&](auto x, auto y, auto scratch, auto options) {
          op.forward(ss::exec::host{}, x, w, y, ss::no_saved, scratch, options);
        },
        [&](auto, index_t b, index_t, auto options) {
          return equivalent_matrix(op, w, b, options);
        });
  };
  check(ss::sparse_mix<ss::topology::chord>{});
  if (sizeof(T) == 2) return;  // larger sums are not exact
  check(ss::sparse_mix<ss::topology::chord, ss::residual::none>{});
  check(ss::sparse_mix<ss::topology::chord, ss::residual::initial>{});
}

namespace {

// Counts the zeros in some columns of a product of factors whose weights are all 1. The elements of
// the product are exact numbers of paths.
template <class Topology>
index_t count_zeros(Topology const& topology, index_t n, index_t factors,
                    std::vector<index_t> const& columns) {
  ss::sparse_mix<Topology, ss::residual::none> const op{topology};
  ss::stack_extents const weight_shape{factors, 1, n, topology.links(factors)};
  tensor<double> x({1, n, static_cast<index_t>(columns.size())}), y(x.extents());
  for (std::size_t c = 0; c < columns.size(); ++c) x(0, columns[c], static_cast<index_t>(c)) = 1;
  double const weight = 1;
  std::vector<unsigned char> scratch(
      op.template workspace_bytes<double>(ss::exec::host{}, x.extents(), weight_shape));
  op.forward(ss::exec::host{}, std::as_const(x).view(),
             ss::tensor_stack<double const>(&weight, weight_shape, {0, 0, 0, 0}), y.view(),
             ss::no_saved, {scratch.data(), scratch.size()});
  return std::count(y.elements().begin(), y.elements().end(), 0.0);
}
// Counts the zeros of the whole matrix.
template <class Topology>
index_t count_zeros(Topology const& topology, index_t n, index_t factors) {
  ss::sparse_mix<Topology, ss::residual::none> const op{topology};
  ss::stack_extents const weight_shape{factors, 1, n, topology.links(factors)};
  double const weight = 1;
  auto const matrix =
      equivalent_matrix(op, ss::tensor_stack<double const>(&weight, weight_shape, {0, 0, 0, 0}), 0);
  return std::count(matrix.elements.begin(), matrix.elements.end(), 0.0);
}

}  // namespace

TEST_CASE("full support with ceil_log2 factors, for every length") {
  ss::topology::chord const chord;
  ss::topology::cdil const cdil;
  for (index_t n = 1; n <= 70; ++n) {
    CAPTURE(n);
    CHECK(count_zeros(chord, n, ss::ceil_log2(n)) == 0);
    CHECK(count_zeros(cdil, n, ss::ceil_log2(n)) == 0);
  }
  std::vector<index_t> const columns = {0, 1, 499, 998, 999};
  for (index_t n : {1000, 1023, 1024, 1025}) {
    CAPTURE(n);
    CHECK(count_zeros(chord, n, ss::ceil_log2(n), columns) == 0);
    CHECK(count_zeros(cdil, n, ss::ceil_log2(n), columns) == 0);
  }
}

// Nine factors of CHORD take up to nine steps of 1, 2, .., 256, which do not reach 4 of 1000 rows.
// Nine factors of CDIL reach 2^9 - 1 rows in each direction, and thus all rows.
TEST_CASE("with floor_log2 factors, CHORD may leave rows unconnected") {
  ss::topology::chord const chord;
  ss::topology::cdil const cdil;
  for (index_t column : {0, 7, 500, 999}) {
    CHECK(count_zeros(chord, 1000, ss::floor_log2(1000), {column}) == 4);
    CHECK(count_zeros(cdil, 1000, ss::floor_log2(1000), {column}) == 0);
  }
  CHECK(count_zeros(chord, 1999, ss::floor_log2(1999), {0}) == 4);
  CHECK(count_zeros(chord, 1023, ss::floor_log2(1023), {0}) == 9);
  CHECK(count_zeros(chord, 1024, ss::floor_log2(1024), {0}) == 0);
  CHECK(count_zeros(chord, 1024, 9, {0}) > 0);  // one factor fewer
  for (index_t n : {2, 4, 5, 8, 64}) CHECK(count_zeros(chord, n, ss::floor_log2(n)) == 0);
  for (index_t n : {3, 6, 7, 15, 63}) CHECK(count_zeros(chord, n, ss::floor_log2(n)) > 0);
  for (index_t n = 1; n <= 40; ++n) CHECK(count_zeros(cdil, n, ss::floor_log2(n)) == 0);
}

TEST_CASE("rejected arguments") {
  tensor<float> const x(shape);
  CHECK(error_message([&] { equivalent_matrix(ss::max_exchange{}, x.view(), 3, 0); }) ==
        "equivalent_matrix: batch is 3, must be in 0..2");
  CHECK(error_message([&] { equivalent_matrix(ss::max_exchange{}, x.view(), -1, 0); }) ==
        "equivalent_matrix: batch is -1, must be in 0..2");
  CHECK(error_message([&] { equivalent_matrix(ss::max_exchange{}, x.view(), 0, 5); }) ==
        "equivalent_matrix: channel is 5, must be in 0..4");
  tensor3<float const> const null_view(nullptr, shape);
  CHECK(error_message([&] { equivalent_matrix(ss::slicing_sort<>{}, null_view, 0, 0); }) ==
        "equivalent_matrix: x.data is null, must point to [3, 13, 5]");
  index_t const invalid_lengths[] = {13, 14, 1};
  CHECK(error_message([&] {
          equivalent_matrix(ss::slicing_sort<>{}, x.view(), 0, 0, ss::lengths(invalid_lengths));
        }) == "equivalent_matrix: lengths[1] is 14, must be in 0..13 (length)");
  // Errors of the operator.
  CHECK(error_message([&] { equivalent_matrix(ss::max_exchange{13}, x.view(), 0, 0); }) != "");
  CHECK(error_message([&] {
          equivalent_matrix(ss::sinkhorn_csp{ss::group_size{2}, ss::sinkhorn{0.0, 3}}, x.view(), 0,
                            0);
        }) == "sinkhorn_csp.forward: tau is 0, must be positive and finite");
  std::vector<float> const w(12);
  CHECK(error_message([&] {
          equivalent_matrix(ss::sparse_mix<>{}, tensor3<float const>(w.data(), {1, 3, 4}), 0);
        }) == "sparse_mix.forward: w.links is 4, must be 2 (topology.links)");
}
