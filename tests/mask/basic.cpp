// SPDX-License-Identifier: Apache-2.0
// Masks: visible keys of each query compared with the definitions, clamped ranges, and invalid
// parameters.
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
struct no_mask {};
struct non_const_allows {
  bool allows(index_t, index_t) { return true; }
};
struct range_of_wrong_type {
  index_t range(index_t query, index_t) const { return query; }
};

using ss::detail::has_allows;
using ss::detail::has_range;

static_assert(has_range<mask::full> && !has_allows<mask::full>, "a range is enough");
static_assert(has_range<mask::causal> && !has_allows<mask::causal>, "a range is enough");
static_assert(has_range<mask::window> && !has_allows<mask::window>, "a range is enough");
static_assert(has_range<mask::block_local> && !has_allows<mask::block_local>, "a range is enough");
static_assert(!has_range<mask::strided> && has_allows<mask::strided>, "tested key by key");
static_assert(has_range<by_range> && !has_allows<by_range>, "user-defined");
static_assert(!has_range<by_key> && has_allows<by_key>, "user-defined");
static_assert(!has_range<no_mask> && !has_allows<no_mask>, "not a mask");
static_assert(!has_allows<non_const_allows>, "threads share the mask, so allows() must be const");
static_assert(!has_range<range_of_wrong_type>, "does not return a key_range");

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
  key_range const r = ss::detail::clamped_key_range(m, query, keys);
  return r.first <= key && key < r.last && ss::detail::allows_key(m, query, key);
}

// Compares all pairs of 20 queries and up to 17 keys with a definition.
template <class Mask, class Definition>
void check_definition(Mask const& m, Definition const& definition) {
  for (index_t keys : {1, 2, 9, 17})
    for (index_t query = 0; query < 20; ++query) {
      key_range const r = ss::detail::clamped_key_range(m, query, keys);
      CHECK((0 <= r.first && r.first <= r.last && r.last <= keys));
      for (index_t key = 0; key < keys; ++key) {
        CAPTURE(query);
        CAPTURE(key);
        CHECK(is_visible(m, query, key, keys) == definition(query, key));
      }
    }
}

constexpr index_t max_parameter = index_t{1} << 40;

}  // namespace

TEST_CASE("each mask matches its definition") {
  check_definition(mask::full{}, [](index_t, index_t) { return true; });
  for (index_t offset : {index_t{0}, index_t{1}, index_t{7}, index_t{-1}, index_t{-6},
                         max_parameter, -max_parameter})
    check_definition(mask::causal{offset}, [=](index_t i, index_t j) { return j - i <= offset; });
  for (index_t left_keys : {index_t{0}, index_t{1}, index_t{5}, max_parameter})
    for (index_t right_keys : {index_t{0}, index_t{2}, max_parameter})
      check_definition(mask::window{left_keys, right_keys}, [=](index_t i, index_t j) {
        return j - i <= right_keys && i - j <= left_keys;
      });
  for (index_t size :
       {index_t{1}, index_t{2}, index_t{3}, index_t{16}, index_t{100}, max_parameter})
    check_definition(mask::block_local{size},
                     [=](index_t i, index_t j) { return i / size == j / size; });
  for (index_t stride : {index_t{1}, index_t{2}, index_t{5}, index_t{100}})
    for (index_t near_by : {index_t{0}, index_t{1}, index_t{3}, max_parameter})
      check_definition(mask::strided{stride, near_by}, [=](index_t i, index_t j) {
        index_t const distance = i < j ? j - i : i - j;
        return distance < near_by || distance % stride == 0;
      });
}

TEST_CASE("user-defined masks, and combinations of two") {
  auto const near_by = [](index_t i, index_t j) { return i - 1 <= j && j < i + 1; };
  auto const even = [](index_t i, index_t j) { return (i + j) % 2 == 0; };
  check_definition(by_range{}, near_by);
  check_definition(by_key{}, even);
  check_definition(mask::both{by_range{}, by_key{}},
                   [=](index_t i, index_t j) { return near_by(i, j) && even(i, j); });
  check_definition(
      mask::both{mask::causal{2}, mask::both{mask::block_local{4}, mask::strided{3}}},
      [](index_t i, index_t j) { return j <= i + 2 && i / 4 == j / 4 && (i - j) % 3 == 0; });
  check_definition(mask::both{mask::window{4, 4}, mask::causal{-3}},
                   [](index_t i, index_t j) { return i - 4 <= j && j <= i - 3; });
}

TEST_CASE("ranges are clamped") {
  struct fixed_range {
    key_range r;
    key_range range(index_t, index_t) const { return r; }
  };
  index_t const max_index = std::numeric_limits<index_t>::max(),
                min_index = std::numeric_limits<index_t>::min();
  auto const clamped_range = [](key_range r) {
    return ss::detail::clamped_key_range(fixed_range{r}, 3, 10);
  };
  auto const equals = [](key_range r, index_t first, index_t last) {
    return r.first == first && r.last == last;
  };
  CHECK(equals(clamped_range({min_index, max_index}), 0, 10));
  CHECK(equals(clamped_range({-4, 3}), 0, 3));
  CHECK(equals(clamped_range({7, 12}), 7, 10));
  CHECK(equals(clamped_range({7, 7}), 0, 0));
  CHECK(equals(clamped_range({8, 2}), 0, 0));
  CHECK(equals(clamped_range({max_index, min_index}), 0, 0));
  CHECK(equals(clamped_range({10, 20}), 0, 0));
  CHECK(equals(clamped_range({-5, 0}), 0, 0));
  CHECK(equals(ss::detail::clamped_key_range(by_key{}, 3, 10), 0, 10));
}

TEST_CASE("masks reject invalid parameters") {
  CHECK(mask::causal{max_parameter}.validate(5) == nullptr);
  CHECK(mask::causal{-max_parameter}.validate(5) == nullptr);
  for (index_t invalid : {max_parameter + 1, -max_parameter - 1})
    CHECK(std::string(mask::causal{invalid}.validate(5)) ==
          "causal: offset must be in -2^40..2^40");
  CHECK(mask::window{max_parameter, 0}.validate(5) == nullptr);
  for (mask::window invalid :
       {mask::window{-1, 0}, {0, -1}, {max_parameter + 1, 0}, {0, max_parameter + 1}})
    CHECK(std::string(invalid.validate(5)) == "window: left and right must be in 0..2^40");
  CHECK(mask::block_local{max_parameter}.validate(5) == nullptr);
  for (index_t invalid : {index_t{0}, index_t{-3}, max_parameter + 1})
    CHECK(std::string(mask::block_local{invalid}.validate(5)) ==
          "block_local: size must be in 1..2^40");
  CHECK(mask::strided{1, 0}.validate(5) == nullptr);
  for (mask::strided invalid : {mask::strided{0, 1}, {-1, 0}, {1, -1}})
    CHECK(std::string(invalid.validate(5)) ==
          "strided: stride must be at least 1, near_by at least 0");
  // `both` reports what either of its masks reports; a mask without validate() accepts everything.
  CHECK(std::string(mask::both{mask::strided{0}, by_range{}}.validate(5)) ==
        "strided: stride must be at least 1, near_by at least 0");
  CHECK(std::string(mask::both{by_key{}, mask::block_local{0}}.validate(5)) ==
        "block_local: size must be in 1..2^40");
  CHECK(mask::both{by_key{}, by_range{}}.validate(5) == nullptr);
  CHECK(mask::both{mask::causal{}, mask::strided{2}}.validate(5) == nullptr);
}
