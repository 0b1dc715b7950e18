// SPDX-License-Identifier: Apache-2.0
// slicing_sort at edge sizes: lengths around powers of two, prime lengths, lengths beyond 16-bit
// indices, channel counts around the tile width, and batches whose samples share a tile.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

using namespace support;

namespace {

template <class T>
void check_lengths(std::vector<index_t> const& lengths, index_t channels, std::uint64_t seed) {
  for (index_t n : lengths) {
    extents3 const e{1, n, channels};
    // Inputs with and without special values may take different paths. In the fast suite, they
    // alternate by length, in opposite phase for different types.
    bool const ordinary_only = (seed + sizeof(T) / 2) % 2 == 0;
    if (full_suite() || ordinary_only)
      CHECK(check_all_paths(make_mixed_problem<T>(e, ordinary_kinds, seed, irregular)) == "");
    if (full_suite() || !ordinary_only)
      CHECK(check_all_paths(make_mixed_problem<T>(e, all_kinds, seed, zigzag)) == "");
    ++seed;
  }
}

}  // namespace

TEST_CASE_TEMPLATE("lengths around powers of two, and prime lengths", T, float, double, float16,
                   bfloat16) {
  check_lengths<T>({131, 191, 192, 193, 251, 255, 256, 257, 383, 384, 385, 509, 511, 512, 513}, 35,
                   17);
  check_lengths<T>({767, 768, 769, 1021, 1023, 1024, 1025, 1536, 2047, 2048, 2049}, 33, 40);
  check_lengths<T>({4093, 4095, 4096, 4097, 6145}, 9, 60);
  check_lengths<T>({8191, 8192, 8193, 16381}, 5, 3);
}

TEST_CASE_TEMPLATE("long columns, up to and beyond the last 16-bit index", T, float, double,
                   float16, bfloat16) {
  check_lengths<T>({32767, 32769}, 2, 9);
  check_lengths<T>({65535, 65536, 65539}, 2, 13);
  check_lengths<T>({65537}, 9, 15);
  if (full_suite()) check_lengths<T>({98304, 131071, 131072, 131073, 1000003}, 5, 5);
}

TEST_CASE_TEMPLATE("full tiles of long columns", T, float, bfloat16) {
  for (input_kind kind : {input_kind::rare_pairs, input_kind::long_runs, input_kind::rare_specials})
    for (index_t n : {1000, 4096, 5000}) {
      CHECK(check_all_paths(make_problem<T>({1, n, 32}, kind, 77, up)) == "");
      CHECK(check_all_paths(make_problem<T>({1, n, 32}, kind, 78, down)) == "");
    }
}

// Rows of such a tile are shorter than half a sector. A key does not determine the bits of a NaN,
// so the NaN is loaded separately. The warp that loads it is not the one that stores it, and may
// belong to another block.
TEST_CASE_TEMPLATE("one NaN in a tile that a cluster of blocks shares", T, float, double, float16,
                   bfloat16) {
  auto const kind_of = [](std::uint64_t column) {
    return column == 5 ? input_kind::nan_among : input_kind::normal;
  };
  for (std::uint64_t order : {up, down}) {
    auto const p = make_problem_per_column<T>({1, 13000, 8}, kind_of, 91, order);
    for_each_backend_untuned([&](any_exec const& exec) {
      CHECK(check_saved<T, std::uint16_t>(p, exec, pattern_order{order}) == "");
    });
  }
}

TEST_CASE_TEMPLATE("lengths of the radix sort, one kind of input at a time", T, float, double,
                   float16) {
  for (int k = 0; k < all_kinds; ++k) {
    auto const kind = static_cast<input_kind>(k);
    CHECK(check_all_paths(make_problem<T>({1, 65600, 1}, kind, 4, k % 2 == 0 ? up : down)) == "");
  }
}

TEST_CASE_TEMPLATE("65536 equal rows use every 16-bit index", T, float, bfloat16) {
  for (std::uint64_t order : {up, down}) {
    auto const p = make_problem<T>({1, 65536, 1}, input_kind::constant, 1, order);
    CHECK(p.perm.elements().back() == 65535);
    CHECK(check_all_paths(p) == "");
  }
}

TEST_CASE_TEMPLATE("all 65536 patterns of a 16-bit type in one column", T, float16, bfloat16) {
  for (std::uint64_t order : {up, down}) {
    sort_problem<T> p;
    p.title = "all patterns";
    p.order = order;
    p.x = p.dy = tensor<T>({1, 65536, 1});
    for (std::size_t i = 0; i < 65536; ++i) {
      p.x.elements()[i] = from_bits<T>((i * 40503 + 12345) & 0xffff);  // odd factor: a bijection
      p.dy.elements()[i] = from_bits<T>(i);
    }
    compute_expected(p);
    CHECK(check_all_paths(p) == "");
  }
}

TEST_CASE_TEMPLATE("channel counts around the tile width", T, float, double, float16, bfloat16) {
  for (index_t c = 1; c <= 70; ++c) {
    auto const seed = static_cast<std::uint64_t>(c);
    for (index_t n : {37, 64})
      CHECK(check_all_paths(make_mixed_problem<T>({1, n, c}, all_kinds, seed, irregular)) == "");
    CHECK(check_all_paths(make_problem<T>({1, 50, c}, input_kind::rare_pairs, seed, zigzag)) == "");
  }
  for (index_t c : {95, 96, 97, 100, 128, 131})
    CHECK(check_all_paths(make_mixed_problem<T>({1, 41, c}, ordinary_kinds, 2, zigzag)) == "");
}

TEST_CASE_TEMPLATE("batches: the columns of a tile may belong to several samples", T, float,
                   float16) {
  for (index_t b = 0; b <= 5; ++b)
    for (index_t c : {0, 1, 3, 7, 8, 15, 16, 17, 31, 32, 33}) {
      auto const seed = static_cast<std::uint64_t>(b * 100 + c);
      CHECK(check_all_paths(make_mixed_problem<T>({b, 29, c}, all_kinds, seed, irregular)) == "");
      CHECK(check_all_paths(make_mixed_problem<T>({b, 65, c}, ordinary_kinds, seed, zigzag)) == "");
    }
  CHECK(check_all_paths(make_mixed_problem<T>({70, 19, 1}, all_kinds, 8, up)) == "");
}
