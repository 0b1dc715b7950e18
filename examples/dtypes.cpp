// SPDX-License-Identifier: Apache-2.0
// Element types: float, double, float16, bfloat16, or your 16-bit type in one of these formats.
// Sorting compares bits and moves values unchanged: NaN keep their payload, zeros their sign.
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace ss = slicesort;

// [snippet]
// A framework's bfloat16: 16 bits, and conversions to and from float.
struct their_bfloat16 {
  std::uint16_t bits;
  their_bfloat16() = default;
  explicit their_bfloat16(float value) : bits(ss::bfloat16(value).bits) {}
  explicit operator float() const {
    ss::bfloat16 value;
    value.bits = bits;
    return static_cast<float>(value);
  }
};

template <>
struct slicesort::dtype_traits<their_bfloat16> : slicesort::dtype_traits<slicesort::bfloat16> {};
// [/snippet]

namespace {

template <class T, class Order>
void sort(char const* name, Order order) {
  float const inf = std::numeric_limits<float>::infinity();
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<T> data;
  for (float v : {0.0f, nan, 1.5f, -0.0f, inf, -2.0f, -inf}) data.push_back(static_cast<T>(v));
  auto const x = ss::view(data, {1, 7, 1});

  ss::exec::host const exec;
  ss::slicing_sort<Order> const op(order);
  ss::scratch memory;
  op.forward(exec, x, x, ss::no_saved, memory);

  std::printf("%-15s", name);
  for (T v : data) std::printf(" %4g", static_cast<double>(static_cast<float>(v)));
  std::printf("\n");
}

}  // namespace

int main() {
  sort<float>("float", ss::ascending{});
  sort<double>("double", ss::ascending{});
  sort<ss::float16>("float16", ss::ascending{});
  sort<ss::bfloat16>("bfloat16", ss::ascending{});
  sort<their_bfloat16>("their_bfloat16", ss::ascending{});
  sort<their_bfloat16>("descending", ss::descending{});
}

// output:
// float           -inf   -2    0   -0  1.5  inf  nan
// double          -inf   -2    0   -0  1.5  inf  nan
// float16         -inf   -2    0   -0  1.5  inf  nan
// bfloat16        -inf   -2    0   -0  1.5  inf  nan
// their_bfloat16  -inf   -2    0   -0  1.5  inf  nan
// descending       nan  inf  1.5    0   -0   -2 -inf
