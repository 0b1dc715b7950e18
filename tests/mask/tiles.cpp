// SPDX-License-Identifier: Apache-2.0
// Compares every mask with a naive definition: all pairs, and `meets` and `covers` for all tiles of
// small problems.
#include "pattern.hpp"

#include <slicesort/policies/mask.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace support;
namespace ss = slicesort;
namespace mask = slicesort::mask;

namespace {

constexpr index_t max_parameter = index_t{1} << 40;

auto causal(index_t offset) {
  return [=](index_t i, index_t j) { return j <= i + offset; };
}
auto window(index_t left_keys, index_t right_keys) {
  return [=](index_t i, index_t j) { return i - left_keys <= j && j <= i + right_keys; };
}
auto fixed(index_t block, index_t tail, bool first_column) {
  return [=](index_t i, index_t j) {
    return i / block == j / block || j % block >= block - tail || (first_column && j % block == 0);
  };
}
auto globals(index_t count) {
  return [=](index_t i, index_t j) { return i < count || j < count; };
}
template <class A, class B>
auto either(A const& a, B const& b) {
  return [=](index_t i, index_t j) { return a(i, j) || b(i, j); };
}
template <class A, class B>
auto both(A const& a, B const& b) {
  return [=](index_t i, index_t j) { return a(i, j) && b(i, j); };
}

}  // namespace

TEST_CASE("masks with ranges") {
  CHECK(describe_mismatch(mask::full{}, [](index_t, index_t) { return true; }) == "");
  for (index_t offset : {index_t{0}, index_t{1}, index_t{7}, index_t{-1}, index_t{-6},
                         max_parameter, -max_parameter})
    CHECK(describe_mismatch(mask::causal{offset}, causal(offset)) == "");
  for (index_t left_keys : {index_t{0}, index_t{1}, index_t{5}, max_parameter})
    for (index_t right_keys : {index_t{0}, index_t{2}, max_parameter})
      CHECK(describe_mismatch(mask::window{left_keys, right_keys}, window(left_keys, right_keys)) ==
            "");
  for (index_t size : {index_t{1}, index_t{2}, index_t{3}, index_t{5}, index_t{100}, max_parameter})
    CHECK(describe_mismatch(mask::block_local{size},
                            [=](index_t i, index_t j) { return i / size == j / size; }) == "");
  for (index_t count : {index_t{0}, index_t{1}, index_t{3}, index_t{13}, max_parameter})
    CHECK(describe_mismatch(mask::globals{count}, globals(count)) == "");
}

TEST_CASE("strided and dilated") {
  for (index_t stride : {index_t{1}, index_t{2}, index_t{5}, index_t{100}})
    for (index_t near_by :
         {index_t{0}, index_t{1}, index_t{3}, index_t{6}, std::numeric_limits<index_t>::max()})
      CHECK(describe_mismatch(mask::strided{stride, near_by}, [=](index_t i, index_t j) {
              index_t const distance = i < j ? j - i : i - j;
              return distance < near_by || distance % stride == 0;
            }) == "");
  for (index_t step : {index_t{1}, index_t{2}, index_t{3}, index_t{12}})
    for (index_t left_keys : {index_t{0}, index_t{1}, index_t{2}, max_parameter / 12})
      for (index_t right_keys : {index_t{0}, index_t{1}, index_t{4}})
        CHECK(describe_mismatch(mask::dilated_window{left_keys, right_keys, step},
                                [=](index_t i, index_t j) {
                                  return -left_keys * step <= j - i && j - i <= right_keys * step &&
                                         (j - i) % step == 0;
                                }) == "");
  // The specification's examples.
  CHECK(keys_of(mask::dilated_window{2, 1, 3}, 7, 12) == std::vector<index_t>{1, 4, 7, 10});
}

TEST_CASE("visibility of a key to 64 queries, as bits") {
  auto const bits_mismatch = [](auto const& m) {
    for (index_t query : {0, 1, 63, 64, 70, 200, 1000})
      for (index_t key = 0; key < 300; ++key) {
        std::uint64_t const bits = m.query_bits(query, key);
        for (index_t i = 0; i < 64; ++i) {
          bool const visible = sees(m, query + i, key, 300);
          if ((bits >> i & 1) != visible)
            return "query " + std::to_string(query + i) + ", key " + std::to_string(key);
        }
      }
    return std::string();
  };
  CHECK(bits_mismatch(mask::full{}) == "");
  for (index_t offset : {index_t{0}, index_t{5}, index_t{-70}, max_parameter, -max_parameter})
    CHECK(bits_mismatch(mask::causal{offset}) == "");
  for (index_t left_keys : {index_t{0}, index_t{3}, index_t{90}, max_parameter})
    for (index_t right_keys : {index_t{0}, index_t{1}, index_t{64}, max_parameter})
      CHECK(bits_mismatch(mask::window{left_keys, right_keys}) == "");
  for (index_t size : {index_t{1}, index_t{3}, index_t{40}, index_t{64}, index_t{130}, index_t{299},
                       max_parameter}) {
    CHECK(bits_mismatch(mask::chunk_back{size}) == "");
    CHECK(bits_mismatch(mask::chunk_back{size, true, 300}) == "");
    CHECK(bits_mismatch(mask::both{mask::chunk_back{size, true, 300}, mask::causal{}}) == "");
  }
  for (index_t stride : {1, 2, 7, 20, 32, 63, 64, 65, 500})
    for (index_t near_by : {index_t{0}, index_t{1}, index_t{32}, index_t{100}, max_parameter,
                            std::numeric_limits<index_t>::max()}) {
      mask::strided const strided{stride, near_by};
      CHECK(bits_mismatch(strided) == "");
      CHECK(bits_mismatch(mask::both{mask::causal{2}, strided}) == "");
      CHECK(bits_mismatch(mask::either{mask::window{40, 3}, strided}) == "");
    }
}

TEST_CASE("fixed") {
  for (index_t block :
       {index_t{1}, index_t{2}, index_t{4}, index_t{5}, index_t{100}, max_parameter})
    for (index_t tail : {index_t{0}, index_t{1}, index_t{2}, block - 1, block})
      for (bool first : {false, true})
        if (tail <= block)
          CHECK(describe_mismatch(mask::fixed{block, tail, first}, fixed(block, tail, first)) ==
                "");
}

// Bits in the format of numpy.packbits(pairs, axis=1, bitorder="little").
TEST_CASE("blocks by a table") {
  std::mt19937 random(5);
  for (index_t block : {1, 2, 3, 20})
    for (index_t keys : {1, 5, 13, 18})
      for (index_t queries : {1, 13, 19})
        for (unsigned density : {0u, 2u, 9u, 16u}) {  // sixteenths
          index_t const rows = (queries - 1) / block + 1, columns = (keys - 1) / block + 1,
                        pitch = (columns + 7) / 8;
          std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows * pitch), 0);
          std::vector<bool> pairs(static_cast<std::size_t>(rows * columns));
          for (index_t r = 0; r < rows; ++r)
            for (index_t c = 0; c < columns; ++c)
              if (random() % 16 < density) {
                pairs[static_cast<std::size_t>(r * columns + c)] = true;
                auto& byte = bytes[static_cast<std::size_t>(r * pitch + c / 8)];
                byte = static_cast<std::uint8_t>(byte | 1 << c % 8);
              }
          mask::block_pairs const m{{bytes.data(), bytes.size()}, block, keys, queries};
          REQUIRE(m.pitch() == pitch);
          REQUIRE(m.bytes() == rows * pitch);
          CHECK(m.validate(keys) == nullptr);
          // The last two blocks of queries are not in the table.
          mask_pattern const expected(queries + 2 * block, keys, [&](index_t i, index_t j) {
            return i / block < rows &&
                   pairs[static_cast<std::size_t>(i / block * columns + j / block)];
          });
          CHECK(describe_mismatch(m, expected, exact) == "");
        }
  std::uint8_t const table[] = {0b011, 0b010, 0b111};
  CHECK(keys_of(mask::block_pairs{{table, 3}, 2, 5}, 3, 5) == std::vector<index_t>{2, 3});
  std::uint8_t const strided_table[] = {0b01, 0xff, 0b00, 0xff};  // stride 2
  CHECK(keys_of(mask::block_pairs{{strided_table, 2, 2}, 2, 4}, 1, 4) ==
        std::vector<index_t>{0, 1});
  CHECK(keys_of(mask::block_pairs{{strided_table, 2, 2}, 2, 4}, 2, 4) == std::vector<index_t>{});
}

TEST_CASE("chunks that look back") {
  for (index_t size :
       {index_t{1}, index_t{2}, index_t{3}, index_t{7}, index_t{100}, max_parameter}) {
    CHECK(describe_mismatch(mask::chunk_back{size}, [=](index_t i, index_t j) {
            return i / size == j / size || i / size == j / size + 1;
          }) == "");
    for (index_t queries : {1, 6, 13})
      for (index_t keys : {1, 3, 5, 6, 13, 14}) {
        index_t const last = (keys - 1) / size;
        mask_pattern const expected(queries, keys, [=](index_t i, index_t j) {
          return i / size == j / size || i / size == j / size + 1 ||
                 (i / size == 0 && j / size == last);
        });
        CHECK(describe_mismatch(mask::chunk_back{size, true, keys}, expected, exact) == "");
      }
  }
  CHECK(keys_of(mask::chunk_back{2, true, 7}, 1, 7) == std::vector<index_t>{0, 1, 6});
  CHECK(keys_of(mask::chunk_back{2, true, 7}, 2, 7) == std::vector<index_t>{0, 1, 2, 3});
}

TEST_CASE("combinations of two masks") {
  exactness const exact_meets_only{true, false}, exact_covers_only{false, true};
  for (index_t count : {0, 1, 3})
    for (index_t near_by : {0, 2}) {
      auto const expected = either(window(near_by, 1), globals(count));
      CHECK(describe_mismatch(mask::either{mask::window{near_by, 1}, mask::globals{count}},
                              expected, exact_meets_only) == "");
      CHECK(describe_mismatch(mask::either{mask::globals{count}, mask::window{near_by, 1}},
                              expected, exact_meets_only) == "");
    }
  for (index_t block : {2, 4})
    for (index_t offset : {-1, 0, 2}) {
      auto const expected = both(causal(offset), fixed(block, 1, true));
      mask::both const m{mask::causal{offset}, mask::fixed{block, 1, true}};
      CHECK(describe_mismatch(m, expected, exact_covers_only) == "");
      // Away from the diagonal it is exact, like the mask without `causal`.
      mask_pattern const pattern(14, 14, expected);
      for (index_t i = 0; i < 14; ++i)
        for (index_t j = 0; j < 12; ++j) {
          ss::detail::pair_range const tile{i, i + 1, j, j + 2};
          if (j + 1 <= i + offset || j > i + offset)
            CHECK(ss::detail::meets_pairs(m, tile) == pattern.has_pair(tile));
        }
      CHECK(describe_mismatch(mask::either{m, mask::globals{2}}, either(expected, globals(2)),
                              {false, false}) == "");
      CHECK(describe_mismatch(mask::both{mask::either{mask::fixed{3, 1}, mask::window{1, 1}},
                                         mask::causal{offset}},
                              both(either(fixed(3, 1, false), window(1, 1)), causal(offset)),
                              {false, false}) == "");
    }
  // An empty range does not restrict the other mask.
  CHECK(describe_mismatch(
            mask::either{mask::causal{-4}, mask::both{mask::window{1, 1}, mask::causal{-1}}},
            either(causal(-4), both(window(1, 1), causal(-1))), {false, false}) == "");
  ss::key_range const range = mask::either{mask::causal{-9}, mask::window{1, 1}}.range(5, 14);
  CHECK((range.first == 4 && range.last == 7));
  // The specification's examples.
  using keys = std::vector<index_t>;
  mask::both const fixed_mask{mask::causal{}, mask::fixed{4, 1}},
      with_first_column{mask::causal{}, mask::fixed{4, 1, true}};
  CHECK(keys_of(fixed_mask, 5, 8) == keys{3, 4, 5});
  CHECK(keys_of(fixed_mask, 7, 8) == keys{3, 4, 5, 6, 7});
  CHECK(keys_of(with_first_column, 5, 8) == keys{0, 3, 4, 5});
  CHECK(keys_of(with_first_column, 6, 8) == keys{0, 3, 4, 5, 6});
  mask::either const longformer{mask::window{1, 1}, mask::globals{1}};
  CHECK(keys_of(longformer, 0, 6) == keys{0, 1, 2, 3, 4, 5});
  CHECK(keys_of(longformer, 4, 6) == keys{0, 3, 4, 5});
}

// Masks without `meets` and `covers` are tested pair by pair, also inside combinations.
TEST_CASE("minimal masks") {
  struct by_range {
    ss::key_range range(index_t query, index_t) const { return {query - 1, query + 1}; }
  };
  struct by_key {
    bool allows(index_t query, index_t key) const { return (query + key) % 2 == 0; }
  };
  exactness const not_exact{false, false};
  auto const near_by = [](index_t i, index_t j) { return i - 1 <= j && j < i + 1; };
  auto const even = [](index_t i, index_t j) { return (i + j) % 2 == 0; };
  CHECK(describe_mismatch(mask::either{by_range{}, by_key{}}, either(near_by, even), not_exact) ==
        "");
  CHECK(describe_mismatch(mask::both{by_key{}, mask::fixed{3, 1}}, both(even, fixed(3, 1, false)),
                          not_exact) == "");
}
