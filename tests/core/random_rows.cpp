// SPDX-License-Identifier: Apache-2.0
// Random rows: values in the specification, moments, orthogonality, independence of the number of
// rows, and golden bits. Also tests the logarithm and square root that they use.
#include "support/numbers.hpp"

#include <slicesort/detail/math/normal.hpp>
#include <slicesort/random_rows.hpp>
#include <slicesort/view.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ss = slicesort;
using ss::index_t, ss::random_rows, ss::row_form;

namespace {

constexpr row_form row_forms[] = {row_form::gaussian, row_form::orthogonal_chi,
                                  row_form::orthogonal_unit};

double dot(ss::dense_matrix const& m, index_t r, index_t s) {
  double sum = 0;
  for (index_t c = 0; c < m.columns; ++c) sum += m(r, c) * m(s, c);
  return sum;
}

std::uint64_t fingerprint(ss::dense_matrix const& m) {
  std::uint64_t hash = 0;
  for (double const x : m.elements)
    hash = ss::detail::mix64(hash ^ ss::detail::bit_cast<std::uint64_t>(x));
  return hash;
}

template <class T>
std::string error_of(random_rows const& r, ss::tensor3<T> output) {
  try {
    r.write(output);
  } catch (ss::invalid_argument const& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("values in the specification") {
  double const normals[] = {-0.1585519908, 0.7552901426, -0.1901331387, -1.0931555102};
  for (std::uint64_t i = 0; i < 4; ++i)
    CHECK(std::abs(ss::detail::counter_normal(1, 0, i) - normals[i]) <= 5.1e-11);
  ss::dense_matrix const gaussian = random_rows{1, 2, 2}.matrix();
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(gaussian.elements[i] - normals[i]) <= 5.1e-11);
  double const rows[] = {0.5125202914,  0.4414047501, 1.0132452832,
                         -1.1764911175, 0.9132594841, 0.3225634578};
  ss::dense_matrix const orthogonal = random_rows{7, 3, 2, row_form::orthogonal_chi}.matrix();
  REQUIRE(orthogonal.elements.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::abs(orthogonal.elements[i] - rows[i]) <= 5.1e-11);
  std::int64_t const expected_hashes[] = {1581361928, 4052577513, 194377325};
  for (std::uint64_t i = 0; i < 3; ++i)
    CHECK(ss::detail::uniform_below(ss::detail::counter_hash64(1, 0), i, 1000) ==
          expected_hashes[i] * 1000 >> 32);
}

TEST_CASE("moments of the normal numbers") {
  constexpr int count = 20000;
  double sums[4] = {}, neighbor_products = 0, sequence_products = 0, previous = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    double const x = ss::detail::counter_normal(5, 9, i);
    double power = x;
    for (double& sum : sums) sum += power, power *= x;
    neighbor_products += x * previous, previous = x;
    sequence_products += x * ss::detail::counter_normal(5, 10, i);
  }
  for (double& sum : sums) sum /= count;
  // The tolerances are about four standard deviations.
  CHECK(std::abs(sums[0]) < 0.03);
  CHECK(std::abs(sums[1] - 1) < 0.04);
  CHECK(std::abs(sums[2]) < 0.11);
  CHECK(std::abs(sums[3] - 3) < 0.28);
  CHECK(std::abs(neighbor_products / count) < 0.03);
  CHECK(std::abs(sequence_products / count) < 0.03);
}

TEST_CASE("orthogonal rows have the specified lengths") {
  for (index_t columns : {1, 2, 7, 64}) {
    index_t const rows = 2 * columns + 3;
    ss::dense_matrix const unit = random_rows{3, rows, columns, row_form::orthogonal_unit}.matrix(),
                           chi = random_rows{3, rows, columns, row_form::orthogonal_chi}.matrix();
    double max_error = 0;
    for (index_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (index_t c = 0; c < columns; ++c)
        squares += std::pow(
            ss::detail::counter_normal(3, 1, static_cast<std::uint64_t>(r * columns + c)), 2);
      CHECK(std::abs(dot(unit, r, r) / static_cast<double>(columns) - 1) < 1e-13);
      CHECK(std::abs(dot(chi, r, r) / squares - 1) < 1e-13);
      for (index_t s = r / columns * columns; s < r; ++s) {
        max_error = support::max_or_nan(max_error,
                                        std::abs(dot(unit, r, s)) / static_cast<double>(columns));
        // Rows of both kinds have the same directions.
        CHECK(std::abs(dot(chi, r, s)) <= 1e-13 * static_cast<double>(columns) * 4);
      }
    }
    CHECK(max_error < 1e-14);
  }
}

TEST_CASE("the first rows do not depend on the number of rows") {
  for (row_form form : row_forms)
    for (index_t rows : {0, 1, 4, 5, 6, 17}) {
      ss::dense_matrix const prefix = random_rows{11, rows, 5, form}.matrix(),
                             longer = random_rows{11, 23, 5, form}.matrix();
      CHECK(prefix.size == rows);
      CHECK(prefix.columns == 5);
      CHECK(std::equal(prefix.elements.begin(), prefix.elements.end(), longer.elements.begin()));
    }
  CHECK(random_rows{11, 23, 5}.matrix().elements != random_rows{12, 23, 5}.matrix().elements);
}

// Golden fingerprints of this implementation, on every compiler, flag and processor.
TEST_CASE("golden bits") {
  CHECK(fingerprint(random_rows{42, 40, 9}.matrix()) == 5558092434206739967u);
  CHECK(fingerprint(random_rows{42, 40, 9, row_form::orthogonal_chi}.matrix()) ==
        8533370764556588680u);
  CHECK(fingerprint(random_rows{42, 40, 9, row_form::orthogonal_unit}.matrix()) ==
        12940564400240200568u);
}

TEST_CASE_TEMPLATE("views", T, float, double, ss::float16, ss::bfloat16) {
  using accumulator = ss::detail::accumulator_t<T>;
  for (row_form form : row_forms) {
    random_rows const r{9, 6, 4, form};
    ss::dense_matrix const matrix = r.matrix();
    std::vector<T> data(2 * 40, static_cast<T>(7.0f));
    // Two heads of three rows, with gaps between heads, rows and columns.
    ss::tensor3<T> const w(data.data(), {2, 3, 4}, {40, 10, 2});
    r.write(w);
    int untouched = 0;
    for (T const x : data) untouched += static_cast<accumulator>(x) == 7;
    CHECK(untouched == 80 - 24);
    for (index_t b = 0; b < 2; ++b)
      for (index_t n = 0; n < 3; ++n)
        for (index_t c = 0; c < 4; ++c)
          CHECK(static_cast<accumulator>(w(b, n, c)) ==
                static_cast<accumulator>(
                    static_cast<T>(static_cast<accumulator>(matrix(3 * b + n, c)))));
  }
}

TEST_CASE("invalid arguments are rejected") {
  std::vector<float> data(24);
  std::string const invalid_shape =
      "random_rows: the view has another shape: batch * length must be rows, channels columns";
  CHECK(error_of(random_rows{1, 6, 4}, ss::view(data, {2, 3, 4})) == "");
  CHECK(error_of(random_rows{1, 0, 4}, ss::tensor3<float>(data.data(), {0, 3, 4})) == "");
  for (ss::extents3 const e : {ss::extents3{1, 3, 4}, {2, 3, 3}, {3, 3, 1}, {0, 3, 4}})
    CHECK(error_of(random_rows{1, 6, 4}, ss::tensor3<float>(data.data(), e)) == invalid_shape);
  CHECK(error_of(random_rows{1, 7, 4}, ss::tensor3<float>(data.data(), {2, 3, 4})) ==
        invalid_shape);
  CHECK(error_of(random_rows{1, 1, 4},
                 ss::tensor3<float>(data.data(), {index_t{1} << 40, index_t{1} << 40, 4})) ==
        invalid_shape);
  std::string const invalid_size =
      "random_rows: rows and columns must be at least 0, and their product at most 2^40";
  index_t const max_product = index_t{1} << 40;
  for (random_rows const invalid : {random_rows{1, -1, 4},
                                    {1, 4, -1},
                                    {1, max_product + 1, 0},
                                    {1, max_product / 4 + 1, 4},
                                    {1, max_product, max_product}})
    CHECK(error_of(invalid, ss::tensor3<float>()) == invalid_size);
  CHECK(random_rows{1, 0, 0}.matrix().elements.empty());
  CHECK(random_rows{1, 3, 0, row_form::orthogonal_chi}.matrix().elements.empty());
}

TEST_CASE("square roots are rounded to nearest") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    // Normal numbers of all magnitudes, and numbers near powers of two.
    std::uint64_t bits = random() >> 1;
    if (i % 3 == 0) bits = (bits >> 52 << 52) + (random() % 9 - 4);
    double const x = ss::detail::bit_cast<double>(bits);
    if (!(x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max()))
      continue;
    if (ss::detail::exact_square_root(x) != std::sqrt(x)) {
      CAPTURE(x);
      CHECK(ss::detail::exact_square_root(x) == std::sqrt(x));
    }
  }
  for (double x : {1.0, 2.0, 4.0, 0x1p-1022, 0x1.fffffffffffffp1023, 0x1.fffffffffffffp-1, 9.0})
    CHECK(ss::detail::exact_square_root(x) == std::sqrt(x));
}

TEST_CASE("logarithms below one") {
  std::mt19937_64 random(2);
  ss::detail::uncontracted_arithmetic const ops;
  double max_error = 0;
  for (int i = 0; i < 100000; ++i) {
    double const u = static_cast<double>(random() >> 11) * 0x1p-53;
    for (double const x : {u, u * u, 1 - u * 0x1p-20}) {
      if (!(x > 0)) continue;
      long double const expected = std::log(static_cast<long double>(x));
      double const unit =
          std::ldexp(1.0, std::ilogb(std::max(std::abs(double(expected)), 1.0)) - 52);
      max_error = support::max_or_nan(
          max_error,
          std::abs(static_cast<double>(ss::detail::log_normal_value(ops, x) - expected)) / unit);
    }
  }
  CAPTURE(max_error);
  CHECK(max_error <= 2);
  CHECK(max_error > 0.1);
}
