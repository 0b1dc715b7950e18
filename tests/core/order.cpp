// SPDX-License-Identifier: Apache-2.0
// Order policies: sets of channels in the specification, an independent implementation of its
// rules, and the sort under each policy.
#include "slicing_sort/check.hpp"

#include <doctest/doctest.h>
#include <slicesort/policies/order.hpp>

#include <limits>
#include <set>

using namespace support;

namespace {

using channel_set = std::set<index_t>;

template <class Order>
channel_set descending_channels(Order const& order, index_t channels, index_t first = 0) {
  channel_set set;
  for (index_t c = 0; c < channels; ++c)
    if (!ss::detail::ascends(order, c, channels)) set.insert(c + first);
  return set;
}

// 2^k * i mod m by squaring, for m < 2^31.
index_t multiply_by_power_of_two(index_t i, index_t k, index_t m) {
  index_t result = i % m, base = 2 % m;
  for (; k > 0; k /= 2) {
    if (k % 2 == 1) result = result * base % m;
    base = base * base % m;
  }
  return result;
}

// 2^k * i mod m in k steps, for m up to 2^62.
index_t phase_by_doubling(index_t i, index_t k, index_t m) {
  for (; k > 0; --k) i = 2 * i % m;
  return i;
}

// The specification's rule: alternating blocks, then the tail after the last block.
channel_set haar_by_blocks(index_t level, index_t heads, index_t channels) {
  channel_set set;
  index_t const d = channels / heads;
  for (index_t head = 0; head < heads; ++head) {
    index_t width = d;
    for (index_t i = 0; i < level && width > 0; ++i) width /= 2;
    width = std::max<index_t>(width, 1);
    index_t last_descending = -1;
    for (index_t start = width; start + width <= d; start += 2 * width)
      for (index_t c = start; c < start + width; ++c) set.insert(head * d + (last_descending = c));
    if (level > 0 && last_descending >= 0)
      for (index_t c = last_descending + width; c < d; ++c) set.insert(head * d + c);
  }
  return set;
}

}  // namespace

TEST_CASE("golden: interleave (1-based)") {
  using ss::interleave;
  CHECK(descending_channels(interleave{1, 3}, 8, 1) == channel_set{3, 7});
  CHECK(descending_channels(interleave{2, 3}, 8, 1) == channel_set{5, 6, 7});
  CHECK(descending_channels(interleave{3, 3}, 8, 1).empty());
  CHECK(descending_channels(interleave{1, 3}, 16, 1) == channel_set{5, 6, 7, 13, 14, 15});
  CHECK(descending_channels(interleave{2, 3}, 16, 1) == channel_set{9, 10, 11, 12, 13, 14, 15});
}

TEST_CASE("golden: haar_interleave") {
  using ss::haar_interleave;
  CHECK(descending_channels(haar_interleave{0}, 8).empty());
  CHECK(descending_channels(haar_interleave{1}, 8) == channel_set{4, 5, 6, 7});
  CHECK(descending_channels(haar_interleave{2}, 8) == channel_set{2, 3, 6, 7});
  CHECK(descending_channels(haar_interleave{3}, 8) == channel_set{1, 3, 5, 7});
  CHECK(descending_channels(haar_interleave{2}, 10) == channel_set{2, 3, 6, 7, 9});
}

TEST_CASE("interleave is divmod(2^(layers - layer) * i, channels)") {
  for (index_t channels = 1; channels <= 130; ++channels)
    for (index_t layers : {1, 2, 5, 12, 50})
      for (index_t layer = 1; layer <= layers; layer += layers > 12 ? 7 : 1) {
        channel_set expected;
        for (index_t i = 1; i <= channels; ++i) {
          index_t const product = (index_t{1} << (layers - layer)) * i;  // below 2^57
          if (product / channels % 2 == 1 && product % channels != 0) expected.insert(i);
        }
        CHECK(descending_channels(ss::interleave{layer, layers}, channels, 1) == expected);
      }
}

TEST_CASE("interleave with a thousand layers does not overflow") {
  for (index_t channels : {1, 7, 64, 100, 1021}) {
    channel_set expected;
    for (index_t i = 1; i <= channels; ++i) {
      index_t const phase = multiply_by_power_of_two(i, 999, 2 * channels);
      if (phase > channels) expected.insert(i);
    }
    CHECK(descending_channels(ss::interleave{1, 1000}, channels, 1) == expected);
  }
}

TEST_CASE("the time of interleave does not depend on the number of layers") {
  // A loop over layers would not terminate.
  index_t const max_index = std::numeric_limits<index_t>::max();
  for (index_t layers : {index_t{65}, index_t{66}, index_t{100'000'000}, max_index})
    for (index_t layer : {index_t{1}, layers - 64, layers - 1, layers})
      for (index_t channels : {1, 6, 64, 1021}) {
        channel_set expected;
        for (index_t i = 1; i <= channels; ++i)
          if (multiply_by_power_of_two(i, layers - layer, 2 * channels) > channels)
            expected.insert(i);
        CHECK(descending_channels(ss::interleave{layer, layers}, channels, 1) == expected);
      }
}

TEST_CASE("interleave with products that overflow 64 bits") {
  index_t const channels = (index_t{1} << 57) - 1;
  for (index_t k : {56, 57, 58, 113, 114, 171, 1000, 1'000'003}) {
    index_t const phase = phase_by_doubling(1, k, 2 * channels);
    CHECK(ss::interleave{1, k + 1}.ascending(0, channels) == (phase <= channels));
  }
}

TEST_CASE("haar_interleave is blocks and a tail, head by head") {
  for (index_t heads : {1, 2, 3})
    for (index_t d = 1; d <= 70; ++d)
      for (index_t level : {0, 1, 2, 3, 4, 7, 62, 63, 64, 1000})
        CHECK(descending_channels(ss::haar_interleave{level, heads}, heads * d) ==
              haar_by_blocks(level, heads, heads * d));
}

TEST_CASE("half_half: the first half of each head ascends, an odd middle channel descends") {
  CHECK(descending_channels(ss::half_half{}, 5) == channel_set{2, 3, 4});
  CHECK(descending_channels(ss::half_half{}, 1) == channel_set{0});
  CHECK(descending_channels(ss::half_half{2}, 8) == channel_set{2, 3, 6, 7});
  CHECK(descending_channels(ss::half_half{3}, 9) == channel_set{1, 2, 4, 5, 7, 8});
  CHECK(descending_channels(ss::half_half{4}, 4) == channel_set{0, 1, 2, 3});
}

TEST_CASE("ascending and descending") {
  CHECK(descending_channels(ss::ascending{}, 9).empty());
  CHECK(descending_channels(ss::descending{}, 3) == channel_set{0, 1, 2});
}

TEST_CASE("invalid parameters") {
  CHECK(ss::half_half{3}.validate(9) == nullptr);
  CHECK(ss::half_half{2}.validate(9) != nullptr);
  CHECK(ss::half_half{-1}.validate(9) != nullptr);
  CHECK(ss::interleave{3, 3}.validate(1) == nullptr);
  CHECK(ss::interleave{4, 3}.validate(1) != nullptr);
  CHECK(ss::interleave{0, 3}.validate(1) != nullptr);
  CHECK(ss::haar_interleave{5, 3}.validate(9) == nullptr);
  CHECK(ss::haar_interleave{5, 0}.validate(9) != nullptr);
  CHECK(ss::haar_interleave{5, 2}.validate(9) != nullptr);
  CHECK(ss::haar_interleave{-1, 1}.validate(9) != nullptr);
  static_assert(!ss::detail::has_validate<ss::ascending>, "no parameters to reject");
}

namespace {

// A user-defined policy with state: one channel descends.
struct one_descends {
  index_t channel;
  bool ascending(index_t c, index_t) const { return c != channel; }
};

template <class Order>
void check_sort_under(Order const& order) {
  index_t const channels = 36;
  std::uint64_t bits = 0;
  for (index_t c = 0; c < channels; ++c)
    bits |= std::uint64_t{descending_channels(order, channels).count(c) == 0} << c;
  auto const p = make_mixed_problem<float>({2, 61, channels}, all_kinds, 4, bits);
  for (ss::isa set : available_isas())
    CHECK(check_saved<float, std::uint32_t>(p, ss::exec::host{1, set}, order) == "");
}

}  // namespace

TEST_CASE("the sort obeys the policy, channel by channel") {
  check_sort_under(ss::ascending{});
  check_sort_under(ss::descending{});
  check_sort_under(ss::half_half{3});
  check_sort_under(ss::interleave{1, 3});
  check_sort_under(ss::haar_interleave{2, 2});
  check_sort_under(one_descends{33});
}
