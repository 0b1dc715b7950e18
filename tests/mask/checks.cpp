// SPDX-License-Identifier: Apache-2.0
// Sparse masks: invalid parameters, evaluation in constant expressions, and the masks that use the
// sparse kernels.
#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace ss = slicesort;
namespace mask = slicesort::mask;
using ss::index_t;
using ss::key_range;

namespace {

using ss::detail::has_allows, ss::detail::has_for_head, ss::detail::is_sparse;

// For masks with ranges only, kernels do not test single keys or tiles.
static_assert(!is_sparse<mask::full> && !is_sparse<mask::causal>, "ranges");
static_assert(!is_sparse<mask::window> && !is_sparse<mask::block_local>, "ranges");
static_assert(!has_allows<mask::globals> && !is_sparse<mask::globals>, "ranges");
static_assert(!is_sparse<mask::both<mask::causal, mask::window>>, "ranges");
static_assert(!is_sparse<mask::both<mask::both<mask::full, mask::globals>, mask::block_local>>,
              "ranges");
static_assert(!has_for_head<mask::both<mask::causal, mask::window>>, "one mask for all heads");

static_assert(is_sparse<mask::fixed> && is_sparse<mask::dilated_window>, "sparse");
static_assert(is_sparse<mask::strided> && is_sparse<mask::block_pairs>, "sparse");
static_assert(is_sparse<mask::bigbird> && is_sparse<mask::chunk_back>, "sparse");
static_assert(is_sparse<mask::both<mask::causal, mask::fixed>>, "sparse");
static_assert(is_sparse<mask::either<mask::window, mask::globals>>,
              "a union of two ranges is sparse");
static_assert(has_for_head<mask::bigbird>, "one mask per head");
static_assert(has_for_head<mask::both<mask::causal, mask::bigbird>>, "one mask per head");
static_assert(has_for_head<mask::either<mask::bigbird, mask::window>>, "one mask per head");
static_assert(is_sparse<mask::both<mask::causal, mask::bigbird>>, "sparse");
static_assert(!has_for_head<mask::either<mask::fixed, mask::window>>, "one mask for all heads");

template <class... Masks>
constexpr bool are_kernel_arguments = ((std::is_trivially_copyable_v<Masks> &&
                                        std::is_standard_layout_v<Masks>)&&...);
static_assert(
    are_kernel_arguments<mask::fixed, mask::dilated_window, mask::globals, mask::block_pairs,
                         mask::chunk_back, mask::bigbird, mask::either<mask::window, mask::globals>,
                         mask::both<mask::causal, mask::either<mask::bigbird, mask::strided>>>,
    "copied as bytes");

constexpr mask::fixed fixed_four{4, 1};
static_assert(fixed_four.allows(5, 3) && !fixed_four.allows(5, 2), "constant expression");
static_assert(fixed_four.meets(4, 6, 0, 4) && !fixed_four.meets(4, 6, 0, 3), "constant expression");
static_assert(fixed_four.covers(4, 6, 3, 8) && !fixed_four.covers(3, 6, 3, 8),
              "constant expression");
constexpr mask::either longformer{mask::window{1, 1}, mask::globals{1}};
static_assert(longformer.allows(4, 0) && !longformer.allows(4, 1), "constant expression");
static_assert(longformer.validate(9) == nullptr, "constant expression");
constexpr std::uint8_t bits[] = {0b01, 0b11};
constexpr mask::block_pairs pairs{{bits, 2}, 3, 6};
static_assert(pairs.allows(0, 0) && !pairs.allows(0, 3) && pairs.allows(3, 3),
              "constant expression");
static_assert(pairs.covers(3, 6, 0, 6) && !pairs.meets(0, 3, 3, 6), "constant expression");
static_assert(mask::chunk_back{2, true, 7}.allows(0, 6), "constant expression");
static_assert(!mask::dilated_window{1, 1, 3}.meets(0, 1, 1, 3), "constant expression");

constexpr index_t max_parameter = index_t{1} << 40;

template <class Mask>
std::string validation_error(Mask const& m, ss::mask_call call) {
  char const* const message = ss::detail::mask_error(m, call);
  return message == nullptr ? "" : message;
}

}  // namespace

TEST_CASE("parameters out of range") {
  std::string const fixed_block = "fixed: block must be in 1..2^40",
                    fixed_tail = "fixed: tail must be in 0..block";
  CHECK(validation_error(mask::fixed{max_parameter, max_parameter}, 5) == "");
  CHECK(validation_error(mask::fixed{4, 0, true}, 5) == "");
  for (index_t invalid : {index_t{0}, index_t{-1}, max_parameter + 1})
    CHECK(validation_error(mask::fixed{invalid, 0}, 5) == fixed_block);
  for (index_t invalid : {-1, 5}) CHECK(validation_error(mask::fixed{4, invalid}, 5) == fixed_tail);

  CHECK(validation_error(mask::dilated_window{max_parameter / 4, 0, 4}, 5) == "");
  CHECK(validation_error(mask::dilated_window{0, 1, max_parameter}, 5) == "");
  for (index_t invalid : {index_t{0}, index_t{-3}, max_parameter + 1})
    CHECK(validation_error(mask::dilated_window{1, 1, invalid}, 5) ==
          "dilated_window: step must be in 1..2^40");
  for (mask::dilated_window invalid : {mask::dilated_window{-1, 0, 1},
                                       {0, -1, 1},
                                       {2, 0, max_parameter},
                                       {0, max_parameter / 4 + 1, 4},
                                       {0, index_t{1} << 62, 4}})
    CHECK(validation_error(invalid, 5) ==
          "dilated_window: left and right must be at least 0, times step at most 2^40");

  CHECK(validation_error(mask::globals{0}, 5) == "");
  CHECK(validation_error(mask::globals{max_parameter}, 5) == "");
  for (index_t invalid : {index_t{-1}, max_parameter + 1})
    CHECK(validation_error(mask::globals{invalid}, 5) == "globals: count must be in 0..2^40");

  for (index_t invalid : {index_t{0}, index_t{-1}, max_parameter + 1})
    CHECK(validation_error(mask::chunk_back{invalid}, 5) == "chunk_back: size must be in 1..2^40");
}

TEST_CASE("the number of keys") {
  std::string const chunks = "chunk_back: keys must be the number of keys if it is circular";
  CHECK(validation_error(mask::chunk_back{4}, 5) == "");
  CHECK(validation_error(mask::chunk_back{4, true, 5}, 5) == "");
  CHECK(validation_error(mask::chunk_back{4, true}, 5) == chunks);
  CHECK(validation_error(mask::chunk_back{4, true, 6}, 5) == chunks);

  std::uint8_t const table[6] = {};
  std::string const keys = "block_pairs: keys must be the number of keys",
                    size = "block_pairs: table must have a bit for every pair of blocks";
  using pairs = mask::block_pairs;
  CHECK(validation_error(pairs{{table, 6}, 8, 5, 7}, {5, 0}) == "");  // no queries
  CHECK(validation_error(pairs{{table, 3}, 2, 5}, 5) == "");
  CHECK(validation_error(pairs{{table, 6}, 2, 5}, 5) == "");
  CHECK(validation_error(pairs{{table, 3}, 2, 5}, 6) == keys);
  CHECK(validation_error(pairs{{table, 3}, 2}, 5) == keys);
  CHECK(validation_error(pairs{{table, 2}, 2, 5}, 5) == size);
  CHECK(validation_error(pairs{{}, 2, 5}, 5) == size);
  CHECK(validation_error(pairs{{static_cast<std::uint8_t const*>(nullptr), 3}, 2, 5}, 5) == size);
  CHECK(validation_error(pairs{{table, 6}, 2, 17}, 17) ==
        size);  // nine blocks need two bytes per row
  CHECK(validation_error(pairs{{table, 6}, 2, 17, 6}, 17) == "");
  CHECK(validation_error(pairs{{table, 6}, 2, 17, 7}, 17) == size);
  CHECK(validation_error(pairs{{table, 6}, 1, max_parameter, max_parameter}, max_parameter) ==
        size);  // 2^77 bytes
  CHECK(validation_error(pairs{{}, 2, 0}, 0) == "");
  CHECK(validation_error(pairs{{table, 6}, 2, 5, -1}, 5) ==
        "block_pairs: keys and queries must be in 0..2^40");
  for (index_t invalid : {index_t{0}, index_t{-1}, max_parameter + 1})
    CHECK(validation_error(pairs{{table, 6}, invalid, 5}, 5) ==
          "block_pairs: block must be in 1..2^40");

  mask::bigbird m;
  m.keys = 100;
  CHECK(validation_error(m, 100) == "");
  CHECK(validation_error(m, 99) == "bigbird: keys must be the number of keys");
  CHECK(validation_error(mask::bigbird{}, 0) == "");
}

TEST_CASE("BigBird's blocks") {
  auto const error_with = [](index_t mask::bigbird::*member, index_t value) {
    mask::bigbird m;
    m.keys = 100;
    m.*member = value;
    return validation_error(m, 100);
  };
  for (index_t invalid : {index_t{0}, index_t{-64}, max_parameter + 1})
    CHECK(error_with(&mask::bigbird::block, invalid) == "bigbird: block must be in 1..2^40");
  for (index_t invalid : {index_t{0}, index_t{2}, index_t{-1}, max_parameter + 1})
    CHECK(error_with(&mask::bigbird::window, invalid) ==
          "bigbird: window must be an odd number in 1..2^40");
  for (auto member : {&mask::bigbird::ends, &mask::bigbird::random})
    for (index_t invalid : {index_t{-1}, max_parameter + 1})
      CHECK(error_with(member, invalid) == "bigbird: ends and random must be in 0..2^40");
  CHECK(error_with(&mask::bigbird::pool, 0) == "");
  CHECK(error_with(&mask::bigbird::pool, -1) == "bigbird: pool must be in 0..2^62");
  CHECK(error_with(&mask::bigbird::pool, mask::bigbird::unlimited + 1) ==
        "bigbird: pool must be in 0..2^62");
  mask::bigbird m;
  m.block = 2, m.keys = index_t{1} << 32;
  CHECK(validation_error(m, m.keys) == "");
  CHECK(m.for_head(3).allows(1000000, 999999));
  m.keys += 1;
  CHECK(validation_error(m, m.keys) == "bigbird: there must be at most 2^31 blocks");
}

TEST_CASE("either of two masks") {
  struct last_keys {
    key_range range(index_t, index_t keys) const { return {keys - 2, keys}; }
  };
  struct as_many_as_keys {
    key_range range(index_t query, index_t keys) const { return {0, query + keys / 4}; }
  };
  std::string const ranges = "either: ranges of its masks must not depend on the number of keys";
  CHECK(validation_error(mask::either{mask::causal{-3}, mask::full{}}, 5) == "");
  CHECK(validation_error(mask::either{mask::globals{3}, mask::block_local{7}}, 100) == "");
  CHECK(validation_error(mask::either{mask::chunk_back{3, true, 10}, mask::window{0, 1}}, 10) ==
        "");
  CHECK(validation_error(mask::either{mask::causal{}, mask::window{1, 1}}, 0) == "");
  CHECK(validation_error(mask::either{mask::causal{}, last_keys{}}, 9) == ranges);
  CHECK(validation_error(mask::either{last_keys{}, mask::fixed{4, 1}}, 9) == ranges);
  CHECK(validation_error(mask::either{as_many_as_keys{}, mask::causal{}}, 100) == ranges);
  CHECK(validation_error(mask::both{last_keys{}, mask::causal{}}, 9) == "");
  // `either` reports the errors of both masks.
  CHECK(validation_error(mask::either{mask::globals{-1}, mask::causal{}}, 5) ==
        "globals: count must be in 0..2^40");
  CHECK(validation_error(mask::either{mask::causal{}, mask::fixed{0, 0}}, 5) ==
        "fixed: block must be in 1..2^40");
}
