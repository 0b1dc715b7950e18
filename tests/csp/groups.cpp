// SPDX-License-Identifier: Apache-2.0
// csp with groups of every size, columns of every kind, and shapes around the tile sizes.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace support;

namespace {

constexpr index_t group_sizes[] = {1,  2,  3,  4,  5,   7,   8,   15,  16,  17,  31,  32,
                                   33, 63, 64, 65, 100, 127, 128, 129, 130, 256, 257, 300};

// Selects every third case in the fast suite, and every ninth with AddressSanitizer. Each parameter
// value still occurs in some cases.
bool is_selected(std::uint64_t case_index) {
  return full_suite() || case_index % (SLICESORT_TEST_ASAN != 0 ? 9 : 3) == 0;
}

}  // namespace

TEST_CASE_TEMPLATE("every group size, with and without a partial group, and each kind of input", T,
                   float, double, float16, bfloat16) {
  std::uint64_t seed = sizeof(T);
  for (index_t group : group_sizes)
    for (index_t n : {group - 1, group, group + 1, 2 * group, 3 * group - 1, 3 * group + 2}) {
      if (n < 1) continue;
      for (index_t reference : {no_reference, index_t{5}}) {
        ++seed;
        if (!is_selected(seed)) continue;
        CHECK(check_everywhere(make_mixed_csp<T>({1, n, 23}, group, reference, seed)) == "");
        CHECK(check_everywhere(make_mixed_csp<T>({2, n, 9}, group, reference, seed + 1, {},
                                                 ordinary_kinds)) == "");
      }
    }
}

TEST_CASE_TEMPLATE("each kind of input alone", T, float, double, float16, bfloat16) {
  std::uint64_t seed = sizeof(T);
  for (int k = 0; k < all_kinds; ++k)
    for (index_t group : {2, 3, 8, 16, 33, 64, 100, 300}) {
      // A single kind fills a tile and its tail, so a fast path sees no other kind.
      ++seed;
      if (!is_selected(seed + static_cast<std::uint64_t>(k))) continue;
      index_t const n = 300 - static_cast<index_t>(seed % 7);
      auto const x = tensor_of_columns<T>({1, n, 34}, [&](std::uint64_t column) {
        return make_column<T>(static_cast<input_kind>(k), static_cast<std::size_t>(n),
                              seed + column);
      });
      constexpr std::uint64_t orders[] = {up, down, irregular};
      auto sorted = make_csp_problem<T>(x, group, no_reference, orders[seed % 3], seed);
      auto aligned = make_csp_problem<T>(x, group, static_cast<index_t>(seed % 34), up, seed);
      sorted.title = aligned.title = kind_name(static_cast<input_kind>(k));
      CHECK(check_everywhere(sorted) == "");
      CHECK(check_everywhere(aligned) == "");
    }
}

TEST_CASE_TEMPLATE("every length to 70 with every group to 9", T, float, float16) {
  for (index_t n = 0; n <= 70; ++n)
    for (index_t group = 1; group <= 9; ++group) {
      auto const seed = static_cast<std::uint64_t>(n * 9 + group);
      if (!is_selected(seed / 2)) continue;
      CHECK(check_everywhere(make_mixed_csp<T>({2, n, 7}, group, no_reference, seed)) == "");
      CHECK(check_everywhere(make_mixed_csp<T>({2, n, 7}, group, 6, seed)) == "");
    }
}

TEST_CASE_TEMPLATE("lengths around the ends of groups, bytes of saved bits, and tiles", T, float,
                   double, bfloat16) {
  std::uint64_t seed = sizeof(T);
  for (index_t n : {1,   2,   13,  15,  16,  17,  31,  33,  47,  61,   63,   65,   97,
                    127, 129, 191, 251, 255, 257, 509, 511, 513, 1023, 1025, 1031, 2047})
    for (index_t group : {index_t{2}, index_t{3}, index_t{64}, n - 1, n, n + 1, 4 * n}) {
      ++seed;
      if (group < 1 || !is_selected(seed)) continue;
      index_t const channels = n > 600 ? 5 : 33;
      CHECK(check_everywhere(make_mixed_csp<T>({1, n, channels}, group, no_reference, seed)) == "");
      CHECK(check_everywhere(make_mixed_csp<T>({1, n, channels}, group, 0, seed)) == "");
    }
}

TEST_CASE_TEMPLATE("channel counts around the tile width", T, float, double, float16, bfloat16) {
  for (index_t c : {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70, 97, 131})
    for (index_t group : {2, 5, 40}) {
      auto const seed = static_cast<std::uint64_t>(c * 3 + group);
      CHECK(check_everywhere(make_mixed_csp<T>({1, 40, c}, group, no_reference, seed)) == "");
      CHECK(check_everywhere(make_mixed_csp<T>({1, 40, c}, group, c - 1, seed)) == "");
      CHECK(check_everywhere(make_mixed_csp<T>({1, 41, c}, group, c / 2, seed)) == "");
    }
}

TEST_CASE_TEMPLATE("batches: the columns of a tile may belong to several samples", T, float,
                   float16) {
  for (index_t b : {0, 1, 2, 3, 5, 9})
    for (index_t c : {0, 1, 3, 8, 11, 16, 31, 32, 33}) {
      auto const seed = static_cast<std::uint64_t>(b * 100 + c);
      if (!is_selected(seed)) continue;
      CHECK(check_everywhere(make_mixed_csp<T>({b, 21, c}, 4, no_reference, seed)) == "");
      CHECK(check_everywhere(make_mixed_csp<T>({b, 21, c}, 2, 0, seed)) == "");
      CHECK(check_everywhere(
                make_mixed_csp<T>({b, 30, c}, 30, std::max<index_t>(c - 1, 0), seed)) == "");
    }
  CHECK(check_everywhere(make_mixed_csp<T>({70, 19, 1}, 3, 0, 8)) == "");
  CHECK(check_everywhere(make_mixed_csp<T>({70, 19, 1}, 3, no_reference, 8)) == "");
}

// Without shifts, pairs are two whole adjacent rows. Channels sort in one direction or in both.
TEST_CASE_TEMPLATE("pairs without shifts", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 0;
  for (index_t c : {1, 16, 31, 32, 33, 64, 70, 96, 128})
    for (index_t n : {1, 2, 3, 15, 16, 17, 32, 33, 64, 71})
      for (std::uint64_t order : {up, down, irregular, std::uint64_t{0xffffffffu}}) {
        ++seed;
        if (!is_selected(seed)) continue;
        std::vector<index_t> lengths;
        if (seed % 2 == 0) lengths = {n, n / 2, n - 1};
        int const kinds = seed % 4 < 2 ? all_kinds : ordinary_kinds;
        auto const x = mixed_tensor<T>({3, n, c}, kinds, seed);
        CHECK(check_everywhere(make_csp_problem<T>(x, 2, no_reference, order, 0, lengths)) == "");
        CHECK(check_everywhere(make_csp_problem<T>(x, 2, c / 2, up, 0, lengths)) == "");
      }
}
