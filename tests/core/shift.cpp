// SPDX-License-Identifier: Apache-2.0
// Shift policies, compared with independent arithmetic and, for powers, with exact integers. Also
// tests the sizes of groups and validation.
#include "big_integer.hpp"
#include "support/inputs.hpp"

#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/policies/alignment.hpp>
#include <slicesort/policies/grouping.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/policies/shift.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

using namespace support;
namespace ss = slicesort;
namespace shift = slicesort::shift;
using ss::index_t;

namespace {

template <class Shift>
std::vector<index_t> shifts_of(Shift const& policy, index_t channels, index_t length) {
  std::vector<index_t> shifts;
  for (index_t c = 0; c < channels; ++c) shifts.push_back(policy.shift(c, channels, length));
  return shifts;
}
template <class Shift>
index_t count_distinct(Shift const& policy, index_t channels, index_t length) {
  auto const shifts = shifts_of(policy, channels, length);
  return static_cast<index_t>(std::set<index_t>(shifts.begin(), shifts.end()).size());
}
using index_list = std::vector<index_t>;

struct shape {
  index_t length, channels;
};
constexpr shape shapes[] = {{1, 1},  {1, 5},    {2, 3},    {7, 7},    {8, 2},    {10, 3},
                            {3, 10}, {64, 512}, {196, 12}, {257, 64}, {1024, 96}};

}  // namespace

TEST_CASE("no shift") { CHECK(shifts_of(shift::none{}, 4, 8) == index_list{0, 0, 0, 0}); }

TEST_CASE("linear") {
  CHECK(shifts_of(shift::linear{}, 4, 8) == index_list{2, 4, 6, 0});
  CHECK(shifts_of(shift::linear{}, 3, 10) == index_list{4, 8, 2});  // 4, 8, 12
  CHECK(shifts_of(shift::linear{}, 5, 3) == index_list{1, 2, 0, 1, 2});
  CHECK(count_distinct(shift::linear{}, 512, 64) == 64);
  CHECK(count_distinct(shift::linear{}, 512, 256) == 256);
  CHECK(count_distinct(shift::linear{}, 384, 196) == 196);
  CHECK(count_distinct(shift::linear{}, 256, 1024) == 256);
  for (shape s : shapes) {
    index_t step = 0, row = 0;  // the smallest step that covers the length
    while (step * s.channels < s.length) ++step;
    for (index_t c = 0; c < s.channels; ++c) {
      for (index_t k = 0; k < step; ++k) row = row + 1 == s.length ? 0 : row + 1;
      CHECK(shift::linear{}.shift(c, s.channels, s.length) == row);
    }
  }
}

TEST_CASE("linear_step") {
  CHECK(shifts_of(shift::linear_step{}, 6, 7) == index_list{0, 0, 2, 4, 6, 1});
  CHECK(shifts_of(shift::linear_step{3}, 5, 8) == index_list{0, 0, 3, 6, 1});
  CHECK(shifts_of(shift::linear_step{0}, 3, 8) == index_list{0, 0, 0});
  CHECK(count_distinct(shift::linear_step{}, 512, 64) == 32);
  CHECK(count_distinct(shift::linear_step{}, 512, 256) == 128);
  CHECK(count_distinct(shift::linear_step{}, 384, 196) == 98);
  CHECK(count_distinct(shift::linear_step{}, 256, 1024) == 255);
  for (shape s : shapes)
    for (index_t step : {1, 2, 5, 1000}) {
      index_t row = 0;
      for (index_t c = 1; c < s.channels; ++c) {
        CHECK(shift::linear_step{step}.shift(c, s.channels, s.length) == row);
        for (index_t k = 0; k < step; ++k) row = row + 1 == s.length ? 0 : row + 1;
      }
    }
  // The largest valid step and length.
  index_t const max_index = std::numeric_limits<index_t>::max(), length = index_t{1} << 31;
  index_t const c = 1 + length - 1;  // (2^63 - 1) * (2^31 - 1) is 1 modulo 2^31: (-1) * (-1)
  CHECK(shift::linear_step{max_index}.shift(c, c + 1, length) == 1);
}

TEST_CASE("per_head") {
  CHECK(shifts_of(shift::per_head{2}, 6, 10) == index_list{0, 0, 0, 2, 2, 2});
  CHECK(shifts_of(shift::per_head{3}, 6, 5) == index_list{0, 0, 3, 3, 1, 1});
  CHECK(shifts_of(shift::per_head{}, 3, 5) == index_list{0, 0, 0});
  CHECK(count_distinct(shift::per_head{8}, 512, 64) ==
        8);  // table 1 of the paper: N 64, C 512, M 8
  for (index_t heads : {1, 2, 4, 8})
    for (index_t length : {1, 3, 17, 64})
      for (index_t c = 0; c < 32; ++c) {
        index_t const head_channels = 32 / heads;
        index_t head = 0;
        while ((head + 1) * head_channels <= c) ++head;
        index_t row = 32 * head / head_channels;  // channels * floor(c / D) / D, a whole number
        while (row >= length) row -= length;
        CHECK(shift::per_head{heads}.shift(c, 32, length) == row);
      }
}

TEST_CASE("per_head with products that overflow 64 bits") {
  // Head h moves by h * heads rows: with 2^40 + 1 heads of one channel and 1000 rows, the last head
  // by 2^40 * (2^40 + 1) modulo 1000, where 2^40 is 776 and 776 * 777 is 952.
  index_t const heads = (index_t{1} << 40) + 1;
  CHECK(shift::per_head{heads}.shift(heads - 1, heads, 1000) == 952);
}

TEST_CASE("modular, and a table") {
  CHECK(shifts_of(shift::modular{}, 5, 3) == index_list{0, 1, 2, 0, 1});
  std::vector<std::int32_t> const table_shifts{7, -3, 0, std::numeric_limits<std::int32_t>::min()};
  shift::table const dense{{table_shifts.data(), 4}}, strided{{table_shifts.data(), 2, 2}};
  CHECK(shifts_of(dense, 4, 5) == index_list{7, -3, 0, std::numeric_limits<std::int32_t>::min()});
  CHECK(shifts_of(strided, 2, 5) == index_list{7, 0});
}

TEST_CASE("power_ceil is the smallest m with length^t <= m^(layers * channels)") {
  struct {
    index_t length, layers, channels;
  } const cases[] = {{16384, 4, 128}, {1, 2, 3},      {2, 1, 7},     {3, 2, 5},     {8, 3, 1},
                     {8, 1, 3},       {8, 3, 4},      {27, 3, 2},    {27, 1, 9},    {1000, 3, 4},
                     {1000, 1, 3},    {4096, 1, 12},  {4096, 2, 18}, {4096, 4, 16}, {243, 5, 3},
                     {1024, 10, 2},   {65536, 2, 32}, {1023, 3, 4},  {1025, 3, 4},  {196, 12, 16},
                     {131071, 1, 17}, {1 << 30, 6, 5}};
  for (auto const& stack : cases)
    for (index_t layer = 0; layer < stack.layers; ++layer)
      for (index_t c = 0; c < stack.channels; ++c) {
        index_t const m =
            shift::power_ceil{layer, stack.layers}.shift(c, stack.channels, stack.length);
        index_t const t = layer * stack.channels + c, root = stack.layers * stack.channels;
        big_integer const power = big_power(stack.length, t);
        CAPTURE(stack.length);
        CAPTURE(root);
        CAPTURE(t);
        REQUIRE(m >= 1);
        CHECK(big_power(m - 1, root) < power);
        CHECK_FALSE(big_power(m, root) < power);
      }
}

TEST_CASE("power_ceil of Path-X: 16384 rows, 4 layers, 128 channels") {
  std::set<index_t> shifts;
  constexpr index_t first[] = {1, 12, 128, 1449}, last[] = {12, 126, 1421, 16077};
  for (index_t layer = 0; layer < 4; ++layer) {
    auto const layer_shifts = shifts_of(shift::power_ceil{layer, 4}, 128, 16384);
    CHECK(std::is_sorted(layer_shifts.begin(), layer_shifts.end()));
    CHECK(layer_shifts.front() == first[layer]);
    CHECK(layer_shifts.back() == last[layer]);
    shifts.insert(layer_shifts.begin(), layer_shifts.end());
  }
  CHECK(shifts.size() == 355);
}

TEST_CASE("power is length^(t / last) - 1, rounded to nearest, from 0 to length - 1") {
  struct {
    index_t length, layers, channels;
  } const cases[] = {{16384, 4, 128}, {1, 2, 3},   {2, 1, 7},    {3, 2, 5},     {8, 1, 4},
                     {27, 1, 7},      {64, 2, 3},  {1000, 1, 4}, {4096, 1, 13}, {4096, 4, 16},
                     {1023, 3, 4},    {196, 6, 8}, {65537, 2, 9}};
  for (auto const& stack : cases) {
    index_t const last = stack.layers * stack.channels - 1;
    CHECK(shift::power{0, stack.layers}.shift(0, stack.channels, stack.length) == 0);
    CHECK(shift::power{stack.layers - 1, stack.layers}.shift(stack.channels - 1, stack.channels,
                                                             stack.length) == stack.length - 1);
    for (index_t layer = 0; layer < stack.layers; ++layer)
      for (index_t c = 0; c < stack.channels; ++c) {
        index_t const m =
            shift::power{layer, stack.layers}.shift(c, stack.channels, stack.length) + 1;
        // (m - 1/2)^last < length^t < (m + 1/2)^last, doubled; an odd number is never equal.
        big_integer const power = big_power(stack.length, layer * stack.channels + c, last);
        CAPTURE(stack.length);
        CAPTURE(last);
        CAPTURE(layer * stack.channels + c);
        REQUIRE(m >= 1);
        CHECK(big_power(2 * m - 1, last) < power);
        CHECK(power < big_power(2 * m + 1, last));
      }
  }
  CHECK(shift::power{}.shift(0, 1, 9) == 0);  // one channel in one layer
  std::set<index_t> shifts;
  for (index_t layer = 0; layer < 4; ++layer)
    for (index_t j : shifts_of(shift::power{layer, 4}, 128, 16384)) shifts.insert(j);
  CHECK(shifts.size() == 355);
}

TEST_CASE("a length of 0 gives a shift of 0, without a division by zero") {
  for (index_t c : {0, 1, 5}) {
    CHECK(shift::linear{}.shift(c, 6, 0) == 0);
    CHECK(shift::linear_step{}.shift(c, 6, 0) == 0);
    CHECK(shift::per_head{2}.shift(c, 6, 0) == 0);
    CHECK(shift::modular{}.shift(c, 6, 0) == 0);
    CHECK(shift::power{}.shift(c, 6, 0) == 0);
    CHECK(shift::power_ceil{}.shift(c, 6, 0) == 0);
  }
}

TEST_CASE("any shift is wrapped to the rows of a sample") {
  for (index_t length : {1, 2, 3, 7, 64})
    for (index_t j = -200; j <= 200; ++j) {
      index_t row = j;
      while (row < 0) row += length;
      while (row >= length) row -= length;
      CHECK(ss::detail::wrap_row(j, length) == row);
    }
  CHECK(ss::detail::wrap_row(5, 0) == 0);
  CHECK(ss::detail::wrap_row(std::numeric_limits<index_t>::min(), index_t{1} << 31) == 0);
  CHECK(ss::detail::wrap_row(std::numeric_limits<index_t>::min() + 1, 2) == 1);
}

TEST_CASE("policies reject invalid parameters") {
  CHECK(std::string(shift::linear_step{-1}.validate(3)) ==
        "linear_step: step must not be negative");
  CHECK(shift::linear_step{0}.validate(3) == nullptr);
  for (index_t heads : {-1, 0, 2})
    CHECK(std::string(shift::per_head{heads}.validate(3)) ==
          "per_head: channels must be a multiple of heads");
  CHECK(shift::per_head{3}.validate(3) == nullptr);
  for (index_t layer : {-1, 2, 3}) {
    CHECK(std::string(shift::power{layer, 2}.validate(3)) == "power: layer must be in 0..layers-1");
    CHECK(std::string(shift::power_ceil{layer, 2}.validate(3)) ==
          "power_ceil: layer must be in 0..layers-1");
  }
  index_t const layers = index_t{1} << 51;  // times four channels: 2^53, the last that is exact
  CHECK(shift::power{0, layers}.validate(4) == nullptr);
  CHECK(shift::power_ceil{0, layers}.validate(4) == nullptr);
  for (index_t too_many : {layers + 1, index_t{1} << 62, std::numeric_limits<index_t>::max()}) {
    CHECK(std::string(shift::power{0, too_many}.validate(4)) ==
          "power: layers * channels must be at most 2^53");
    CHECK(std::string(shift::power_ceil{0, too_many}.validate(4)) ==
          "power_ceil: layers * channels must be at most 2^53");
  }
  CHECK(shift::power{1, 2}.validate(3) == nullptr);
  CHECK(shift::power_ceil{1, 2}.validate(3) == nullptr);
  std::int32_t const table_shifts[3] = {};
  CHECK(shift::table{{table_shifts, 3}}.validate(3) == nullptr);
  for (index_t channels : {0, 2, 4})
    CHECK(std::string(shift::table{{table_shifts, 3}}.validate(channels)) ==
          "table: there must be one shift for every channel");
  CHECK(shift::table{}.validate(0) == nullptr);
  CHECK(shift::table{{nullptr, 3}}.validate(3) != nullptr);
  CHECK(ss::reference{2}.validate(3) == nullptr);
  for (index_t channel : {-1, 3})
    CHECK(std::string(ss::reference{channel}.validate(3)) ==
          "reference: channel must be one of the channels");
}

TEST_CASE("groups") {
  for (index_t length : {1, 2, 3, 7, 64, 100}) {
    for (index_t rows : {1, 2, 3, 63, 64, 65, 1000}) {
      CHECK(ss::grouping(ss::group_size{rows}).rows(length) == (rows < length ? rows : length));
    }
    for (index_t count : {1, 2, 3, 7, 64, 1000}) {
      index_t rows = 1;  // the smallest group size with which `count` groups hold all rows
      while (rows * count < length) ++rows;
      CHECK(ss::grouping(ss::group_count{count}).rows(length) == rows);
    }
  }
  for (index_t n : {0, 5}) {
    CHECK(ss::grouping(ss::group_size{5}).rows(n) == (n == 0 ? 1 : 5));
    CHECK(ss::grouping(ss::group_count{1}).rows(n) == (n == 0 ? 1 : 5));
  }
  index_t const max_index = std::numeric_limits<index_t>::max();
  CHECK(ss::grouping(ss::group_size{max_index}).rows(9) == 9);
  CHECK(ss::grouping(ss::group_count{max_index}).rows(9) == 1);
  for (index_t invalid : {index_t{0}, index_t{-1}, std::numeric_limits<index_t>::min()}) {
    CHECK(std::string(ss::grouping(ss::group_size{invalid}).validate()) == "must be at least 1");
    CHECK(std::string(ss::grouping(ss::group_count{invalid}).validate()) == "must be at least 1");
    // The operator computes the rows before it rejects the grouping.
    CHECK(ss::grouping(ss::group_size{invalid}).rows(9) >= 1);
    CHECK(ss::grouping(ss::group_count{invalid}).rows(9) >= 1);
  }
  CHECK(ss::grouping(ss::group_size{1}).validate() == nullptr);
  CHECK(ss::grouping(ss::group_count{1}).validate() == nullptr);
}

TEST_CASE("alignments that follow a reference channel") {
  struct middle_reference {
    index_t reference_channel(index_t channels) const { return channels / 2; }
  };
  CHECK(ss::detail::follows_reference<ss::reference>);
  CHECK(ss::detail::follows_reference<middle_reference>);
  CHECK_FALSE(ss::detail::follows_reference<ss::ascending>);
  CHECK_FALSE(ss::detail::follows_reference<ss::half_half>);
}
