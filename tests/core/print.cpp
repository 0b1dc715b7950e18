// SPDX-License-Identifier: Apache-2.0
// Printed text of views, shapes and 16-bit numbers.
#include <slicesort/print.hpp>
#include <slicesort/view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace ss = slicesort;

namespace {

template <class T>
std::string print_to_string(T const& value) {
  std::ostringstream stream;
  stream << std::hex;  // views ignore the stream's settings
  stream << value;
  return stream.str();
}
template <class T>
std::vector<T> consecutive_values(std::size_t size) {
  std::vector<T> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(static_cast<float>(i));
  return values;
}

}  // namespace

TEST_CASE("a small view is printed in full") {
  auto const x = consecutive_values<float>(12);
  CHECK(print_to_string(ss::view(x, {2, 3, 2})) ==
        "f32 [2, 3, 2]\n"
        "[[[ 0  1]\n"
        "  [ 2  3]\n"
        "  [ 4  5]]\n"
        " [[ 6  7]\n"
        "  [ 8  9]\n"
        "  [10 11]]]");
  CHECK(print_to_string(ss::view(x)) == "f32 [12]\n[ 0  1  2 ...  9 10 11]");
  CHECK(print_to_string(ss::view(x, {1, 2, 2, 3})) ==
        "f32 [1, 2, 2, 3]\n"
        "[[[[ 0  1  2]\n"
        "   [ 3  4  5]]\n"
        "  [[ 6  7  8]\n"
        "   [ 9 10 11]]]]");
}

TEST_CASE("long axes are abbreviated, and strides are printed unless they are dense") {
  auto const x = consecutive_values<double>(1000);
  CHECK(print_to_string(ss::tensor3<double const>(x.data(), {1, 9, 7}, {0, 100, 2})) ==
        "f64 [1, 9, 7] strides [0, 100, 2]\n"
        "[[[  0   2   4 ...   8  10  12]\n"
        "  [100 102 104 ... 108 110 112]\n"
        "  [200 202 204 ... 208 210 212]\n"
        "  ...\n"
        "  [600 602 604 ... 608 610 612]\n"
        "  [700 702 704 ... 708 710 712]\n"
        "  [800 802 804 ... 808 810 812]]]");
  CHECK(print_to_string(ss::tensor1<double const>(x.data(), 6, 3)) ==
        "f64 [6] strides [3]\n[ 0  3  6  9 12 15]");
}

TEST_CASE("16-bit numbers, and integers of every width, print as numbers") {
  float const inf = std::numeric_limits<float>::infinity();
  CHECK(print_to_string(ss::float16(-1.5f)) == "-1.5");
  CHECK(print_to_string(ss::bfloat16(-inf)) == "-inf");
  std::vector<ss::bfloat16> const b{ss::bfloat16(0.5f), ss::bfloat16(-0.0f)};
  CHECK(print_to_string(ss::view(b)) == "bf16 [2]\n[0.5  -0]");
  auto const h = consecutive_values<ss::float16>(2);
  CHECK(print_to_string(ss::view(h)) == "f16 [2]\n[0 1]");
  std::vector<std::uint8_t> const bytes{65, 200};
  CHECK(print_to_string(ss::view(bytes)) == "u8 [2]\n[ 65 200]");
  std::vector<std::int32_t> const wide{-1, 70000};
  CHECK(print_to_string(ss::view(wide)) == "i32 [2]\n[   -1 70000]");
  std::vector<std::uint16_t> perm{2, 0, 1};
  ss::index_tensor3 const index = ss::view(perm, {1, 3, 1});
  CHECK(print_to_string(index) == "u16 [1, 3, 1]\n[[[2]\n  [0]\n  [1]]]");
  CHECK(print_to_string(ss::const_index_tensor3(index)) == print_to_string(index));
}

TEST_CASE("shapes, views of nothing, and views whose memory must not be read") {
  CHECK(print_to_string(ss::extents3{2, 3, 5}) == "[2, 3, 5]");
  CHECK(print_to_string(ss::extents4{7, 2, 3, 5}) == "[7, 2, 3, 5]");
  CHECK(print_to_string(ss::stack_extents{7, 2, 3, 5}) == "[7, 2, 3, 5]");
  CHECK(print_to_string(ss::strides3{15, 5, 1}) == "[15, 5, 1]");
  CHECK(print_to_string(ss::strides4{30, 15, 5, 1}) == "[30, 15, 5, 1]");
  CHECK(print_to_string(ss::tensor3<float>{}) == "f32 [0, 0, 0]\n[]");
  CHECK(print_to_string(ss::tensor3<float>(nullptr, {1, 2, 3})) == "f32 [1, 2, 3]\nnull");
  auto* const unmapped = reinterpret_cast<float*>(std::uintptr_t{4096});
  ss::tensor3<float> const far(unmapped, {8, 4096, 256}, {0, 256, 1});
  CHECK(print_to_string(ss::shape_only(far)) == "f32 [8, 4096, 256] strides [0, 256, 1]");
  auto* const unmapped_rows = reinterpret_cast<std::uint16_t*>(std::uintptr_t{4096});
  ss::index_tensor3 const far_index = ss::tensor3<std::uint16_t>(unmapped_rows, {8, 4096, 256});
  CHECK(print_to_string(ss::shape_only(far_index)) == "u16 [8, 4096, 256]");
}
