// SPDX-License-Identifier: Apache-2.0
// Masks: visible keys of each query against the definitions, clamped ranges, rejected parameters.
#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <type_traits>

namespace ss = slicesort;
namespace mask = slicesort::mask;
using ss::index_t;
using ss::key_range;

namespace {

struct by_range {
  key_range range(index_t query, index_t) const { return {query - 1, query + 1}; }
};
struct by_key {
  bool allows(index_t query, index_t key) const { return (query + key) % 2 == 0; }
};
struct neither {};
struct not_const {
  bool allows(index_t, index_t) { return true; }
};
struct wrong_range {
  index_t range(index_t query, index_t) const { return query; }
};

using ss::detail::has_allows;
using ss::detail::has_range;

static_assert(has_range<mask::full> && !has_allows<mask::full>, "a range is enough");
static_assert(has_range<mask::causal> && !has_allows<mask::causal>, "a range is enough");
static_assert(has_range<mask::window> && !has_allows<mask::window>, "a range is enough");
static_assert(has_range<mask::block_local> && !has_allows<mask::block_local>, "a range is enough");
static_assert(!has_range<mask::strided> && has_allows<mask::strided>, "key by key");
static_assert(has_range<by_range> && !has_allows<by_range>, "user-defined");
static_assert(!has_range<by_key> && has_allows<by_key>, "user-defined");
static_assert(!has_range<neither> && !has_allows<neither>, "not a mask");
static_assert(!has_allows<not_const>, "called by several threads");
static_assert(!has_range<wrong_range>, "not a range");

// A combination of two ranges is a range, without tests of single keys.
static_assert(!has_allows<mask::both<mask::causal, mask::window>>, "two ranges");
static_assert(has_allows<mask::both<mask::causal, mask::strided>>, "a range and single keys");
static_assert(has_allows<mask::both<by_key, mask::full>>, "single keys and a range");
static_assert(has_allows<mask::both<mask::full, mask::both<by_range, by_key>>>, "nested");
static_assert(std::is_same_v<decltype(mask::both{mask::causal{}, mask::strided{4}}),
                             mask::both<mask::causal, mask::strided>>,
              "deduced");
static_assert(std::is_trivially_copyable_v<mask::both<mask::causal, mask::strided>>,
              "an argument of kernels");

template <class Mask>
bool is_visible(Mask const& m, index_t query, index_t key, index_t keys) {
  key_range const r = ss::detail::range_of_keys(m, query, keys);
  return r.first <= key && key < r.last && ss::detail::allows_key(m, query, key);
}

// Compares all pairs of 20 queries and up to 17 keys with a definition.
template <class Mask, class Definition>
void check(Mask const& m, Definition const& definition) {
  for (index_t keys : {1, 2, 9, 17})
    for (index_t query = 0; query < 20; ++query) {
      key_range const r = ss::detail::range_of_keys(m, query, keys);
      CHECK((0 <= r.first && r.first <= r.last && r.last <= keys));
      for (index_t key = 0; key < keys; ++key) {
        CAPTURE(query);
        CAPTURE(key);
        CHECK(is_visible(m, query, key, keys) == definition(query, key));
      }
    }
}

constexpr index_t distant = index_t{1} << 40;

}  // namespace

TEST_CASE("each mask matches its definition") {
  check(mask::full{}, [](index_t, index_t) { return true; });
  for (index_t offset :
       {index_t{0}, index_t{1}, index_t{7}, index_t{-1}, index_t{-6}, distant, -distant})
    check(mask::causal{offset}, [=](index_t i, index_t j) { return j - i <= offset; });
  for (index_t left_keys : {index_t{0}, index_t{1}, index_t{5}, distant})
    for (index_t right_keys : {index_t{0}, index_t{2}, distant})
      check(mask::window{left_keys, right_keys},
            [=](index_t i, index_t j) { return j - i <= right_keys && i - j <= left_keys; });
  for (index_t size : {index_t{1}, index_t{2}, index_t{3}, index_t{16}, index_t{100}, distant})
    check(mask::block_local{size}, [=](index_t i, index_t j) { return i / size == j / size; });
  for (index_t stride : {index_t{1}, index_t{2}, index_t{5}, index_t{100}})
    for (index_t near_by : {index_t{0}, index_t{1}, index_t{3}, distant})
      check(mask::strided{stride, near_by}, [=](index_t i, index_t j) {
        index_t const distance = i < j ? j - i : i - j;
        return distance < near_by || distance % stride == 0;
      });
}

TEST_CASE("user-defined masks, and combinations of two") {
  auto const near_by = [](index_t i, index_t j) { return i - 1 <= j && j < i + 1; };
  auto const even = [](index_t i, index_t j) { return (i + j) % 2 == 0; };
  check(by_range{}, near_by);
  check(by_key{}, even);
  check(mask::both{by_range{}, by_key{}},
        [=](index_t i, index_t j) { return near_by(i, j) && even(i, j); });
  check(mask::both{mask::causal{2}, mask::both{mask::block_local{4}, mask::strided{3}}},
        [](index_t i, index_t j) { return j <= i + 2 && i / 4 == j / 4 && (i - j) % 3 == 0; });
  check(mask::both{mask::window{4, 4}, mask::causal{-3}},
        [](index_t i, index_t j) { return i - 4 <= j && j <= i - 3; });
}

TEST_CASE("ranges are clamped") {
  struct fixed_range {
    key_range r;
    key_range range(index_t, index_t) const { return r; }
  };
  index_t const max_index = std::numeric_limits<index_t>::max(),
                min_index = std::numeric_limits<index_t>::min();
  auto const clamped = [](key_range r) { return ss::detail::range_of_keys(fixed_range{r}, 3, 10); };
  auto const is = [](key_range r, index_t first, index_t last) {
    return r.first == first && r.last == last;
  };
  CHECK(is(clamped({min_index, max_index}), 0, 10));
  CHECK(is(clamped({-4, 3}), 0, 3));
  CHECK(is(clamped({7, 12}), 7, 10));
  CHECK(is(clamped({7, 7}), 0, 0));
  CHECK(is(clamped({8, 2}), 0, 0));
  CHECK(is(clamped({max_index, min_index}), 0, 0));
  CHECK(is(clamped({10, 20}), 0, 0));
  CHECK(is(clamped({-5, 0}), 0, 0));
  CHECK(is(ss::detail::range_of_keys(by_key{}, 3, 10), 0, 10));
}

TEST_CASE("masks reject invalid parameters") {
  CHECK(mask::causal{distant}.validate(5) == nullptr);
  CHECK(mask::causal{-distant}.validate(5) == nullptr);
  for (index_t wrong : {distant + 1, -distant - 1})
    CHECK(std::string(mask::causal{wrong}.validate(5)) == "causal: offset must be in -2^40..2^40");
  CHECK(mask::window{distant, 0}.validate(5) == nullptr);
  for (mask::window wrong : {mask::window{-1, 0}, {0, -1}, {distant + 1, 0}, {0, distant + 1}})
    CHECK(std::string(wrong.validate(5)) == "window: left and right must be in 0..2^40");
  CHECK(mask::block_local{distant}.validate(5) == nullptr);
  for (index_t wrong : {index_t{0}, index_t{-3}, distant + 1})
    CHECK(std::string(mask::block_local{wrong}.validate(5)) ==
          "block_local: size must be in 1..2^40");
  CHECK(mask::strided{1, 0}.validate(5) == nullptr);
  for (mask::strided wrong : {mask::strided{0, 1}, {-1, 0}, {1, -1}})
    CHECK(std::string(wrong.validate(5)) ==
          "strided: stride must be at least 1, near_by at least 0");
  // `both` reports what either of its masks reports; a mask without validate() accepts everything.
  CHECK(std::string(mask::both{mask::strided{0}, by_range{}}.validate(5)) ==
        "strided: stride must be at least 1, near_by at least 0");
  CHECK(std::string(mask::both{by_key{}, mask::block_local{0}}.validate(5)) ==
        "block_local: size must be in 1..2^40");
  CHECK(mask::both{by_key{}, by_range{}}.validate(5) == nullptr);
  CHECK(mask::both{mask::causal{}, mask::strided{2}}.validate(5) == nullptr);
}
