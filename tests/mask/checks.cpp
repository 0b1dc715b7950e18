// SPDX-License-Identifier: Apache-2.0
// Sparse masks: rejected parameters, constexpr evaluation, and which masks use the sparse kernels.
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

// Masks with ranges only, whose kernels test no single keys or tiles.
static_assert(!is_sparse<mask::full> && !is_sparse<mask::causal>, "ranges");
static_assert(!is_sparse<mask::window> && !is_sparse<mask::block_local>, "ranges");
static_assert(!has_allows<mask::globals> && !is_sparse<mask::globals>, "ranges");
static_assert(!is_sparse<mask::both<mask::causal, mask::window>>, "ranges");
static_assert(!is_sparse<mask::both<mask::both<mask::full, mask::globals>, mask::block_local>>,
              "ranges");
static_assert(!has_for_head<mask::both<mask::causal, mask::window>>, "all heads are alike");

static_assert(is_sparse<mask::fixed> && is_sparse<mask::dilated_window>, "with holes");
static_assert(is_sparse<mask::strided> && is_sparse<mask::block_pairs>, "with holes");
static_assert(is_sparse<mask::bigbird> && is_sparse<mask::chunk_back>, "with holes");
static_assert(is_sparse<mask::both<mask::causal, mask::fixed>>, "with holes");
static_assert(is_sparse<mask::either<mask::window, mask::globals>>, "two ranges are none");
static_assert(has_for_head<mask::bigbird>, "heads differ");
static_assert(has_for_head<mask::both<mask::causal, mask::bigbird>>, "heads differ");
static_assert(has_for_head<mask::either<mask::bigbird, mask::window>>, "heads differ");
static_assert(is_sparse<mask::both<mask::causal, mask::bigbird>>, "with holes");
static_assert(!has_for_head<mask::either<mask::fixed, mask::window>>, "all heads are alike");

template <class... Masks>
constexpr bool are_arguments_of_kernels = ((std::is_trivially_copyable_v<Masks> &&
                                            std::is_standard_layout_v<Masks>)&&...);
static_assert(are_arguments_of_kernels<
                  mask::fixed, mask::dilated_window, mask::globals, mask::block_pairs,
                  mask::chunk_back, mask::bigbird, mask::either<mask::window, mask::globals>,
                  mask::both<mask::causal, mask::either<mask::bigbird, mask::strided>>>,
              "copied as bytes");

constexpr mask::fixed of_four{4, 1};
static_assert(of_four.allows(5, 3) && !of_four.allows(5, 2), "when compiled");
static_assert(of_four.meets(4, 6, 0, 4) && !of_four.meets(4, 6, 0, 3), "when compiled");
static_assert(of_four.covers(4, 6, 3, 8) && !of_four.covers(3, 6, 3, 8), "when compiled");
constexpr mask::either longformer{mask::window{1, 1}, mask::globals{1}};
static_assert(longformer.allows(4, 0) && !longformer.allows(4, 1), "when compiled");
static_assert(longformer.validate(9) == nullptr, "when compiled");
constexpr std::uint8_t bits[] = {0b01, 0b11};
constexpr mask::block_pairs pairs{{bits, 2}, 3, 6};
static_assert(pairs.allows(0, 0) && !pairs.allows(0, 3) && pairs.allows(3, 3), "when compiled");
static_assert(pairs.covers(3, 6, 0, 6) && !pairs.meets(0, 3, 3, 6), "when compiled");
static_assert(mask::chunk_back{2, true, 7}.allows(0, 6), "when compiled");
static_assert(!mask::dilated_window{1, 1, 3}.meets(0, 1, 1, 3), "when compiled");

constexpr index_t distant = index_t{1} << 40;

template <class Mask>
std::string refused(Mask const& m, ss::mask_call call) {
  char const* const message = ss::detail::mask_error(m, call);
  return message == nullptr ? "" : message;
}

}  // namespace

TEST_CASE("parameters out of range") {
  std::string const fixed_block = "fixed: block must be in 1..2^40",
                    fixed_tail = "fixed: tail must be in 0..block";
  CHECK(refused(mask::fixed{distant, distant}, 5) == "");
  CHECK(refused(mask::fixed{4, 0, true}, 5) == "");
  for (index_t wrong : {index_t{0}, index_t{-1}, distant + 1})
    CHECK(refused(mask::fixed{wrong, 0}, 5) == fixed_block);
  for (index_t wrong : {-1, 5}) CHECK(refused(mask::fixed{4, wrong}, 5) == fixed_tail);

  CHECK(refused(mask::dilated_window{distant / 4, 0, 4}, 5) == "");
  CHECK(refused(mask::dilated_window{0, 1, distant}, 5) == "");
  for (index_t wrong : {index_t{0}, index_t{-3}, distant + 1})
    CHECK(refused(mask::dilated_window{1, 1, wrong}, 5) ==
          "dilated_window: step must be in 1..2^40");
  for (mask::dilated_window wrong : {mask::dilated_window{-1, 0, 1},
                                     {0, -1, 1},
                                     {2, 0, distant},
                                     {0, distant / 4 + 1, 4},
                                     {0, index_t{1} << 62, 4}})
    CHECK(refused(wrong, 5) ==
          "dilated_window: left and right must be at least 0, times step at most 2^40");

  CHECK(refused(mask::globals{0}, 5) == "");
  CHECK(refused(mask::globals{distant}, 5) == "");
  for (index_t wrong : {index_t{-1}, distant + 1})
    CHECK(refused(mask::globals{wrong}, 5) == "globals: count must be in 0..2^40");

  for (index_t wrong : {index_t{0}, index_t{-1}, distant + 1})
    CHECK(refused(mask::chunk_back{wrong}, 5) == "chunk_back: size must be in 1..2^40");
}

TEST_CASE("the number of keys") {
  std::string const chunks = "chunk_back: keys must be the number of keys if it is circular";
  CHECK(refused(mask::chunk_back{4}, 5) == "");
  CHECK(refused(mask::chunk_back{4, true, 5}, 5) == "");
  CHECK(refused(mask::chunk_back{4, true}, 5) == chunks);
  CHECK(refused(mask::chunk_back{4, true, 6}, 5) == chunks);

  std::uint8_t const table[6] = {};
  std::string const keys = "block_pairs: keys must be the number of keys",
                    size = "block_pairs: table must have a bit for every pair of blocks";
  using pairs = mask::block_pairs;
  CHECK(refused(pairs{{table, 6}, 8, 5, 7}, {5, 0}) == "");  // no queries
  CHECK(refused(pairs{{table, 3}, 2, 5}, 5) == "");
  CHECK(refused(pairs{{table, 6}, 2, 5}, 5) == "");
  CHECK(refused(pairs{{table, 3}, 2, 5}, 6) == keys);
  CHECK(refused(pairs{{table, 3}, 2}, 5) == keys);
  CHECK(refused(pairs{{table, 2}, 2, 5}, 5) == size);
  CHECK(refused(pairs{{}, 2, 5}, 5) == size);
  CHECK(refused(pairs{{static_cast<std::uint8_t const*>(nullptr), 3}, 2, 5}, 5) == size);
  CHECK(refused(pairs{{table, 6}, 2, 17}, 17) == size);  // nine blocks are two bytes a row
  CHECK(refused(pairs{{table, 6}, 2, 17, 6}, 17) == "");
  CHECK(refused(pairs{{table, 6}, 2, 17, 7}, 17) == size);
  CHECK(refused(pairs{{table, 6}, 1, distant, distant}, distant) == size);  // 2^77 bytes
  CHECK(refused(pairs{{}, 2, 0}, 0) == "");
  CHECK(refused(pairs{{table, 6}, 2, 5, -1}, 5) ==
        "block_pairs: keys and queries must be in 0..2^40");
  for (index_t wrong : {index_t{0}, index_t{-1}, distant + 1})
    CHECK(refused(pairs{{table, 6}, wrong, 5}, 5) == "block_pairs: block must be in 1..2^40");

  mask::bigbird m;
  m.keys = 100;
  CHECK(refused(m, 100) == "");
  CHECK(refused(m, 99) == "bigbird: keys must be the number of keys");
  CHECK(refused(mask::bigbird{}, 0) == "");
}

TEST_CASE("BigBird's blocks") {
  auto const with = [](index_t mask::bigbird::*member, index_t value) {
    mask::bigbird m;
    m.keys = 100;
    m.*member = value;
    return refused(m, 100);
  };
  for (index_t wrong : {index_t{0}, index_t{-64}, distant + 1})
    CHECK(with(&mask::bigbird::block, wrong) == "bigbird: block must be in 1..2^40");
  for (index_t wrong : {index_t{0}, index_t{2}, index_t{-1}, distant + 1})
    CHECK(with(&mask::bigbird::window, wrong) ==
          "bigbird: window must be an odd number in 1..2^40");
  for (auto member : {&mask::bigbird::ends, &mask::bigbird::random})
    for (index_t wrong : {index_t{-1}, distant + 1})
      CHECK(with(member, wrong) == "bigbird: ends and random must be in 0..2^40");
  CHECK(with(&mask::bigbird::pool, 0) == "");
  CHECK(with(&mask::bigbird::pool, -1) == "bigbird: pool must be in 0..2^62");
  CHECK(with(&mask::bigbird::pool, mask::bigbird::unlimited + 1) ==
        "bigbird: pool must be in 0..2^62");
  mask::bigbird m;
  m.block = 2, m.keys = index_t{1} << 32;
  CHECK(refused(m, m.keys) == "");
  CHECK(m.for_head(3).allows(1000000, 999999));
  m.keys += 1;
  CHECK(refused(m, m.keys) == "bigbird: there must be at most 2^31 blocks");
}

TEST_CASE("either of two masks") {
  struct last_keys {
    key_range range(index_t, index_t keys) const { return {keys - 2, keys}; }
  };
  struct as_many_as_keys {
    key_range range(index_t query, index_t keys) const { return {0, query + keys / 4}; }
  };
  std::string const ranges = "either: ranges of its masks must not depend on the number of keys";
  CHECK(refused(mask::either{mask::causal{-3}, mask::full{}}, 5) == "");
  CHECK(refused(mask::either{mask::globals{3}, mask::block_local{7}}, 100) == "");
  CHECK(refused(mask::either{mask::chunk_back{3, true, 10}, mask::window{0, 1}}, 10) == "");
  CHECK(refused(mask::either{mask::causal{}, mask::window{1, 1}}, 0) == "");
  CHECK(refused(mask::either{mask::causal{}, last_keys{}}, 9) == ranges);
  CHECK(refused(mask::either{last_keys{}, mask::fixed{4, 1}}, 9) == ranges);
  CHECK(refused(mask::either{as_many_as_keys{}, mask::causal{}}, 100) == ranges);
  CHECK(refused(mask::both{last_keys{}, mask::causal{}}, 9) == "");
  // `either` reports the errors of both masks.
  CHECK(refused(mask::either{mask::globals{-1}, mask::causal{}}, 5) ==
        "globals: count must be in 0..2^40");
  CHECK(refused(mask::either{mask::causal{}, mask::fixed{0, 0}}, 5) ==
        "fixed: block must be in 1..2^40");
}
